import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { at } from '../cluster/kubectl.ts';
import { installOperator, OPERATOR } from '../cluster/shared-cluster.ts';
import { test } from '../cluster/test.ts';

const CHART = join(import.meta.dirname, '../../helm/mcp-operator');
const DEPLOY = join(import.meta.dirname, '../../deploy');
const ACCOUNT = `${OPERATOR}:${OPERATOR}`;

describe('helm install', () => {
  test('starts an operator that passes helm test', async ({ operated }) => {
    await operated.waitForRollout(OPERATOR, { namespace: OPERATOR });
    expect(await operated.helm('test', OPERATOR, '--namespace', OPERATOR, '--logs')).toContain('the operator works');
  });

  test('runs it as the strictest pod security demands', async ({ operated }) => {
    await operated.run('label', 'namespace', OPERATOR, 'pod-security.kubernetes.io/enforce=restricted', '--overwrite');
    const before = await newestPod(operated);
    await operated.run('-n', OPERATOR, 'rollout', 'restart', 'deployment', OPERATOR);
    await operated.waitForRollout(OPERATOR, { namespace: OPERATOR });
    expect(await newestPod(operated)).not.toBe(before);
  });

  test('lets the operator do its work, and nothing else', async ({ operated }) => {
    const may: [string, string][] = [
      ['watch', 'mcpadapters.mcpadapter.io'],
      ['patch', 'mcpadapters.mcpadapter.io/status'],
      ['watch', 'apiscrapesources.mcpadapter.io'],
      ['create', 'deployments.apps'],
      ['patch', 'configmaps'],
      ['delete', 'horizontalpodautoscalers.autoscaling'],
      ['create', 'events.events.k8s.io'],
      ['watch', 'namespaces'],
    ];
    for (const [verb, resource] of may) {
      expect([verb, resource, await operated.canI(ACCOUNT, verb, resource)]).toEqual([verb, resource, true]);
    }
    const mayNot: [string, string][] = [
      ...['get', 'list', 'watch', 'create', 'patch', 'update', 'delete'].map((verb): [string, string] => [
        verb,
        'secrets',
      ]),
      ['patch', 'mcpadapters.mcpadapter.io'],
      ['update', 'apiscrapesources.mcpadapter.io'],
      ['delete', 'mcpadapters.mcpadapter.io'],
      ['create', 'pods'],
      ['delete', 'pods'],
      ['create', 'pods/exec'],
      ['create', 'serviceaccounts/token'],
      ['create', 'roles.rbac.authorization.k8s.io'],
      ['list', 'customresourcedefinitions.apiextensions.k8s.io'],
      ['get', 'nodes'],
      ['patch', 'namespaces'],
      ['impersonate', 'users'],
    ];
    for (const [verb, resource] of mayNot) {
      expect([verb, resource, await operated.canI(ACCOUNT, verb, resource)]).toEqual([verb, resource, false]);
    }
    const lease = (name: string): string => `leases.coordination.k8s.io/${name}`;
    expect(await operated.canI(ACCOUNT, 'update', lease(OPERATOR), OPERATOR)).toBe(true);
    expect(await operated.canI(ACCOUNT, 'update', lease('another'), OPERATOR)).toBe(false);
    expect(await operated.canI(ACCOUNT, 'get', lease(OPERATOR), 'kube-system')).toBe(false);
  });

  test('lets viewers of a namespace view the two kinds, and editors edit them', async ({ operated }) => {
    await using namespace = await operated.namespace('roles');
    const users = { viewer: 'view', editor: 'edit' };
    for (const [name, role] of Object.entries(users)) {
      await operated.run('-n', namespace.name, 'create', 'serviceaccount', name);
      const subject = `${namespace.name}:${name}`;
      const binding = ['create', 'rolebinding', name, `--clusterrole=${role}`, `--serviceaccount=${subject}`];
      await operated.run('-n', namespace.name, ...binding);
    }
    const can = (user: string, verb: string): Promise<boolean> =>
      operated.canI(`${namespace.name}:${user}`, verb, 'mcpadapters.mcpadapter.io', namespace.name);
    // The API server adds aggregated rules within a moment.
    await expect.poll(() => can('editor', 'create'), { timeout: 10_000 }).toBe(true);
    expect(await can('viewer', 'watch')).toBe(true);
    expect(await can('viewer', 'patch')).toBe(false);
    expect(await can('editor', 'delete')).toBe(true);
  });

  test('updates the CRDs with an upgrade, and keeps them when it is uninstalled', async ({ operated }) => {
    const path = '/spec/versions/0/schema/openAPIV3Schema/description';
    const crd = 'mcpadapters.mcpadapter.io';
    const patch = JSON.stringify([{ op: 'replace', path, value: 'of an older version' }]);
    await operated.run('patch', 'crd', crd, '--type=json', '--patch', patch);
    await installOperator(operated, '--force-conflicts');
    const upgraded = await operated.get('crd', crd);
    const schema = ['spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'description'];
    expect(at(upgraded, ...schema)).not.toBe('of an older version');

    const said = await operated.helm('uninstall', OPERATOR, '--namespace', OPERATOR, '--wait');
    expect(said).toContain('These resources were kept due to the resource policy');
    expect(await operated.get('crd', crd)).toMatchObject({ metadata: { uid: upgraded?.metadata.uid } });
    expect(await operated.get('deployment', OPERATOR, OPERATOR)).toBeUndefined();
    expect(await operated.list('clusterrole', undefined, 'app.kubernetes.io/name=mcp-operator')).toEqual([]);

    // It takes what was kept as its own again.
    await installOperator(operated);
  });

  test('works with Roles only', async ({ operated }) => {
    await using home = await operated.namespace('restricted-operator');
    await using team = await operated.namespace('restricted-team');
    const values = ['--set', 'scope=namespaced', '--set', `namespaces={${team.name}}`, '--set', 'crds.install=false'];
    const where = ['--namespace', home.name, '--wait', '--timeout', '120s'];
    await operated.helm('install', 'mcp-operator', CHART, ...where, ...values);
    const account = `${home.name}:mcp-operator`;
    expect(await operated.canI(account, 'watch', 'mcpadapters.mcpadapter.io', team.name)).toBe(true);
    expect(await operated.canI(account, 'watch', 'mcpadapters.mcpadapter.io', 'default')).toBe(false);
    expect(await operated.canI(account, 'get', 'secrets', team.name)).toBe(false);
    expect(await operated.canI(account, 'get', 'namespaces')).toBe(false);
    expect(await operated.helm('test', 'mcp-operator', '--namespace', home.name, '--logs')).toContain(
      'the operator works',
    );
    await operated.helm('uninstall', 'mcp-operator', '--namespace', home.name, '--wait');
  });
});

test('kubectl apply -k deploy/ is accepted by the API server', async ({ cluster }) => {
  await cluster.run('create', 'namespace', 'mcp-operator').catch(() => undefined);
  const output = await cluster.run('apply', '-k', DEPLOY, '--server-side', '--force-conflicts', '--dry-run=server');
  expect(output).toContain('deployment.apps/mcp-operator serverside-applied');
});

async function newestPod(cluster: Cluster): Promise<string | undefined> {
  const pods = await cluster.list('pods', OPERATOR, 'app.kubernetes.io/name=mcp-operator');
  return pods.sort((a, b) => (created(a) < created(b) ? 1 : -1))[0]?.metadata.name;
}

const created = (object: object): string => String(at(object, 'metadata', 'creationTimestamp'));
