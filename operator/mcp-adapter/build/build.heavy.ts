import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { valueAt } from '../../../lib/json/tree.ts';
import { type ApiServer, startApiServer } from '../../../e2e/cluster/api-server.ts';
import { HTTP_ROUTES, SERVICE_MONITORS } from '../../kubernetes/resources.ts';
import type { KubernetesObject, Resource } from '../../kubernetes/kubernetes.ts';
import { build } from './build.ts';
import { goldenResources } from '../testing/golden-resources.ts';

/** Building the API server from an empty cache takes minutes. */
const START_MS = 21 * 60_000;
const APPLY = ['apply', '--server-side', '--field-manager=mcp-operator', '--warnings-as-errors', '-f', '-'];

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  const definitions = [HTTP_ROUTES, SERVICE_MONITORS].map(definitionOf);
  await server.kubectlWith(list([...definitions, restrictedNamespace]), 'apply', '-f', '-');
  await server.crdsEstablished();
}, START_MS);

afterAll(async () => server[Symbol.asyncDispose](), 90_000);

/** Pods that break the rules are refused here, and templates of such pods give a warning. */
const restrictedNamespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: 'tools',
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
  },
};

/** The least that makes the API server take objects of a kind that is no part of Kubernetes. */
function definitionOf({ apiVersion, kind, plural }: Resource): object {
  const [group, name] = apiVersion.split('/');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [
        {
          name,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
}

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

const versionsOf = (objects: string): unknown[] => {
  const items = valueAt(JSON.parse(objects), ['items']) as KubernetesObject[];
  return items.map(({ kind, metadata }) => [kind, metadata.name, metadata.resourceVersion]);
};

describe.each(goldenResources())('$name', ({ adapter, context }) => {
  const objects = build(adapter, context).map(({ object }) => object);
  const all = list(objects);

  test('the API server accepts every object without a warning', async () => {
    await server.kubectlWith(all, 'apply', '--dry-run=server', '--warnings-as-errors', '-f', '-');
    const applied = await server.kubectlWith(all, ...APPLY, '-o', 'json');
    expect(versionsOf(applied)).toHaveLength(objects.length);
  });

  test('applying the objects again changes nothing, and nothing differs', async () => {
    const before = await server.kubectlWith(all, ...APPLY, '-o', 'json');
    const again = await server.kubectlWith(all, ...APPLY, '-o', 'json');
    expect(versionsOf(again)).toEqual(versionsOf(before));
    const diff = await server.kubectlWith(all, 'diff', '--server-side', '--field-manager=mcp-operator', '-f', '-');
    expect(diff).toBe('');
  });

  test('its pods run where only restricted pods may', async () => {
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    const template = valueAt(deployment, ['spec', 'template']) as { metadata: object; spec: object };
    const metadata = { ...template.metadata, name: `${adapter.metadata.name}-pod`, namespace: 'tools' };
    const pod = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...template, metadata });
    const created = await server.kubectlWith(pod, 'create', '--dry-run=server', '--warnings-as-errors', '-f', '-');
    expect(created).toContain('created (server dry run)');
  });
});

test('the namespace of these tests does refuse pods that may do more', async () => {
  const { adapter, context } = goldenResources()[0]!;
  const overlay = { spec: { containers: [{ name: 'adapter', securityContext: { allowPrivilegeEscalation: true } }] } };
  const objects = build({ ...adapter, spec: { ...adapter.spec, podOverlay: overlay } }, context);
  const deployment = objects.map(({ object }) => object).find(({ kind }) => kind === 'Deployment');
  const apply = server.kubectlWith(
    JSON.stringify(deployment),
    'apply',
    '--dry-run=server',
    '--warnings-as-errors',
    '-f',
    '-',
  );
  await expect(apply).rejects.toThrow(/violate PodSecurity|warning/i);
});
