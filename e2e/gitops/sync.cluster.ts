import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import { at } from '../cluster/kubectl.ts';
import { test as base } from '../cluster/test.ts';
import { ArgoCd, type Tracking } from './argo-cd.ts';
import { whyNoArgoCd } from './support.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAME = 'demo';
const SETTLING_MS = 180_000;

const test = base.extend<{ gitops: Cluster }>({
  gitops: async ({ operated, skip }, use) => {
    const reason = await whyNoArgoCd();
    if (reason !== undefined) skip(reason);
    await use(operated);
  },
});

/** The example, with another spec. */
async function manifest(change: object = {}): Promise<string> {
  const example = parse(await readFile(join(ROOT, 'examples/mcp-adapter.yaml'), 'utf8')) as { spec: object };
  return stringify({ ...example, spec: { ...example.spec, ...change } });
}

const variants: [Tracking, string][] = [
  ['label', 'ServerSideApply=false'],
  ['annotation', 'ServerSideApply=true'],
];

describe.for(variants)('Argo CD, with tracking by %s and %s', ([tracking, option]) => {
  test(
    'shows how a McpAdapter is, brings changes to its pods, and prunes nothing of it',
    { timeout: 900_000 },
    async ({ gitops: cluster }) => {
      await using namespace = await cluster.namespace('gitops');
      await using argo = await ArgoCd.start(cluster, tracking);
      const repository = 'teams';
      const publish = async (change?: object): Promise<void> => {
        await argo.publish(repository, { 'adapters/demo.yaml': await manifest(change) });
        await argo.refresh(NAME).catch(() => undefined);
      };
      await publish();
      await argo.apply({ name: NAME, repository, path: 'adapters', namespace: namespace.name, syncOptions: [option] });
      await argo.waitUntilHealthy(NAME);
      const children = await uidsOfChildren(cluster, namespace.name);
      expect(children.length).toBeGreaterThan(4);

      await argo.restartController();
      for (let reconcile = 0; reconcile < 3; reconcile += 1) {
        await argo.refresh(NAME);
        // Argo CD takes the annotation away when it has looked.
        await argo.waitFor(NAME, (live) => live.metadata.annotations?.['argocd.argoproj.io/refresh'] === undefined);
        const live = await argo.waitUntilHealthy(NAME);
        expect(at(live, 'status', 'resources', 'length')).toBe(1);
      }
      expect(await uidsOfChildren(cluster, namespace.name)).toEqual(children);

      await publish({ env: [{ name: 'NEW', value: 'value' }] });
      const hasVariable = (deployment: object | undefined): boolean =>
        JSON.stringify(at(deployment, 'spec', 'template') ?? '').includes('"NEW"');
      await cluster.waitFor('deployment', NAME, hasVariable, { namespace: namespace.name, timeoutMs: SETTLING_MS });
      await argo.waitUntilHealthy(NAME);

      const good = parse(await manifest()) as { spec: { config: { core: object } } };
      const config = { ...good.spec.config, core: { log_level: '${UNDECLARED}' } };
      await publish({ config });
      expect(await argo.waitForHealth(NAME, 'McpAdapter', NAME, 'Degraded')).toContain('UNDECLARED');
      await publish({ paused: true });
      await argo.waitForHealth(NAME, 'McpAdapter', NAME, 'Suspended');
      await publish();
      await argo.waitUntilHealthy(NAME);

      await cluster.run('-n', namespace.name, 'delete', 'mcpadapter', NAME, '--wait=true');
      await cluster.waitFor('mcpadapter', NAME, (live) => live !== undefined, { namespace: namespace.name });
      await argo.waitUntilHealthy(NAME);
    },
  );
});

async function uidsOfChildren(cluster: Cluster, namespace: string): Promise<string[]> {
  const kinds = 'deployment,service,configmap,serviceaccount,networkpolicy,pvc';
  const objects = await cluster.list(kinds, namespace, `mcpadapter.io/adapter=${NAME}`);
  for (const { metadata } of objects) {
    expect(
      Object.keys({ ...metadata.labels, ...metadata.annotations }).filter((key) => /argocd|instance/.test(key)),
    ).toEqual([]);
  }
  return objects.map(({ metadata }) => metadata.uid).sort();
}
