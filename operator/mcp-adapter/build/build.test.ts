import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { AdapterConfig } from '../../../crds/config/adapter-file/adapter.ts';
import { checkAdapterConfig, loadAdapterConfig } from '../../../crds/config/load/load.ts';
import { interpolateAll } from '../../../lib/references/reference.ts';
import { valueAt } from '../../../lib/json/tree.ts';
import { McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { build, type Child } from './build.ts';
import { settled } from '../config/settled-config.ts';
import { completedConfig } from '../config/completed-config.ts';
import { environmentOf, goldenResource, goldenResources, TESTDATA } from '../testing/golden-resources.ts';

const resources = goldenResources();

const child = (children: readonly Child[], kind: string): Child => {
  const found = children.find(({ object }) => object.kind === kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
};

const golden = (children: readonly Child[]): string =>
  children
    .map(
      ({ object, owned }) =>
        `---\n${owned ? '' : '# Stays when the McpAdapter is deleted.\n'}${stringify(object, { lineWidth: 0, version: '1.1' })}`,
    )
    .join('');

/** Every value of a document, with its path. */
const leaves = (value: unknown, path: (string | number)[] = []): { path: (string | number)[]; value: unknown }[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, item]) => leaves(item, [...path, Array.isArray(value) ? Number(key) : key]))
    : [{ path, value }];

describe.each(resources)('$name', ({ name, adapter, context }) => {
  const children = build(adapter, context);

  test('is a resource that the operator accepts', () => {
    const { config, ...rest } = adapter.spec;
    const beside = McpAdapterSpec.omit({ config: true }).safeParse(rest);
    expect([...(beside.error?.issues ?? []), ...checkAdapterConfig(config)]).toEqual([]);
  });

  test('becomes the objects of its golden file', async () => {
    await expect(golden(children)).toMatchFileSnapshot(join(TESTDATA, 'goldens', `${name}.yaml`));
  });

  test('becomes a file from which the adapter reads what the resource says', () => {
    const env = environmentOf(adapter);
    const file = String(valueAt(child(children, 'ConfigMap').object, ['data', 'config.yaml']));
    const said = interpolateAll(completedConfig(settled(adapter, undefined).adapter), env).value;
    expect(loadAdapterConfig(file, env)).toEqual(AdapterConfig.parse(said));
  });

  test('becomes the same bytes each time, whatever the order of keys in the configuration', () => {
    expect(JSON.stringify(build(adapter, context))).toBe(JSON.stringify(children));
    const turned = {
      ...adapter,
      spec: { ...adapter.spec, config: reversed(adapter.spec.config) as typeof adapter.spec.config },
    };
    expect(JSON.stringify(build(turned, context))).toBe(JSON.stringify(children));
  });

  test('becomes objects without empty fields, tracking labels of GitOps tools, or anything of the status', () => {
    const text = JSON.stringify(children);
    expect(text.replaceAll(/"config.yaml":"[^"]*"/g, '')).not.toMatch(/null|\[\]/);
    expect(text).not.toMatch(/app\.kubernetes\.io\/instance|argocd\.argoproj|last-applied|ownerReferences/);
    expect(new Set(children.map(({ object }) => `${object.kind}/${object.metadata.name}`)).size).toBe(children.length);
    for (const { object, resource } of children) {
      expect([object.apiVersion, object.kind]).toEqual([resource.apiVersion, resource.kind]);
      expect(object.metadata.namespace).toBe('tools');
      expect(object.metadata.labels).toMatchObject({
        'app.kubernetes.io/managed-by': 'mcp-operator',
        'mcpadapter.io/adapter': adapter.metadata.name,
      });
    }
  });

  test('rolls its pods for every change of the configuration', () => {
    const hash = hashOf(children);
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
    const seen = new Set([hash]);
    const all = leaves(adapter.spec.config);
    for (const { path, value } of all) {
      const config = structuredClone(adapter.spec.config);
      Reflect.set(Object(valueAt(config, path.slice(0, -1))), path.at(-1) ?? '', `${String(value)}x`);
      seen.add(hashOf(build({ ...adapter, spec: { ...adapter.spec, config } }, context)));
    }
    expect(seen.size).toBe(all.length + 1);
  });

  test('keeps its pods when only the number of replicas changes', () => {
    const template = (replicas: number): unknown =>
      valueAt(child(build({ ...adapter, spec: { ...adapter.spec, replicas } }, context), 'Deployment').object, [
        'spec',
        'template',
      ]);
    expect(template(1)).toEqual(template(5));
  });

  test('leaves the resource as it was', () => {
    const before = structuredClone(adapter);
    build(frozen(adapter), context);
    expect(adapter).toEqual(before);
  });
});

const hashOf = (children: readonly Child[]): string =>
  String(
    valueAt(child(children, 'Deployment').object, [
      'spec',
      'template',
      'metadata',
      'annotations',
      'mcpadapter.io/config-hash',
    ]),
  );

const reversed = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(reversed)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, item]) => [key, reversed(item)]),
        )
      : value;

const frozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen);
  return Object.freeze(value);
};

test('an API that the cluster lacks gets no objects', () => {
  const kinds = (name: string, serves: { httpRoutes: boolean; serviceMonitors: boolean }): string[] => {
    const { adapter, context } = goldenResource(name);
    return build(adapter, { ...context, serves }).map(({ object }) => object.kind);
  };
  expect(kinds('http-route', { httpRoutes: false, serviceMonitors: true })).not.toContain('HTTPRoute');
  expect(kinds('full', { httpRoutes: true, serviceMonitors: false })).not.toContain('ServiceMonitor');
});

test('a claim is owned only when it goes with the resource', () => {
  const ownedOf = (name: string): boolean => {
    const { adapter, context } = goldenResource(name);
    return child(build(adapter, context), 'PersistentVolumeClaim').owned;
  };
  expect(ownedOf('retained-claim')).toBe(false);
  expect(ownedOf('full')).toBe(true);
});

test('a change of the annotation that asks for a restart changes the pods', () => {
  const { adapter, context } = goldenResource('minimal');
  const again = { ...adapter, metadata: { ...adapter.metadata, annotations: { 'mcpadapter.io/restartedAt': 'now' } } };
  const { object } = child(build(again, context), 'Deployment');
  expect(valueAt(object, ['spec', 'template', 'metadata', 'annotations', 'mcpadapter.io/restartedAt'])).toBe('now');
  expect(object.metadata.annotations).toBeUndefined();
});
