import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, vi } from 'vitest';
import type { Cluster, TestNamespace } from '../cluster/cluster.ts';
import { at, conditionOf, type Live } from '../cluster/kubectl.ts';
import { OPERATOR } from '../cluster/shared-cluster.ts';
import { test } from '../cluster/test.ts';
import { adapter, onRedis, redis, shared, source, upstream } from './kit/resources.ts';

/** Of these the audit log has to be empty; 600 for the proof by hand. */
const QUIET_SECONDS = Number(process.env['MCP_TEST_QUIET_SECONDS'] ?? 60);
/** How long the operator watches without hearing anything before something changes; 300 by hand. */
const SILENT_SECONDS = Number(process.env['MCP_TEST_SILENT_SECONDS'] ?? 20);
const READY_MS = 240_000;
const NOTICED_MS = 2_000;
const AUDIT_LOG = { timeout: 10_000, interval: 200 };
const TEST_MS = 300_000 + (QUIET_SECONDS + SILENT_SECONDS) * 1_000;
const ACCOUNT = `system:serviceaccount:${OPERATOR}:${OPERATOR}`;

let opened: Promise<TestNamespace> | undefined;
const open = (cluster: Cluster): Promise<TestNamespace> => (opened ??= steady(cluster));

afterAll(async () => {
  await (await opened)?.[Symbol.asyncDispose]();
});

/** Adapters of all sorts and a group of sources, all of which have come to rest. */
async function steady(cluster: Cluster): Promise<TestNamespace> {
  const namespace = await cluster.namespace('steady');
  const memory = { state_persistence: { type: 'memory' } };
  await cluster.apply(
    [
      ...upstream('upstream'),
      ...redis('redis'),
      adapter('three', shared(3), onRedis('redis')),
      adapter('paused', { paused: true }, memory),
      // Of a variable that it does not declare.
      adapter('invalid', {}, { ...memory, core: { auth: { enabled: true, token: '${TOKEN}' } } }),
      ...['one', 'two', 'three'].map((name) => source(name, 'steady')),
    ],
    '-n',
    namespace.name,
  );
  const where = { namespace: namespace.name, timeoutMs: READY_MS };
  for (const type of ['Ready', 'UpstreamsHealthy', 'StateStoreReady']) {
    await cluster.waitForCondition('mcpadapter', 'three', type, 'True', where);
  }
  await cluster.waitForCondition('mcpadapter', 'paused', 'Paused', 'True', where);
  await cluster.waitForCondition('mcpadapter', 'invalid', 'Accepted', 'False', where);
  for (const name of ['one', 'two', 'three']) {
    const settled = (one: Live | undefined): boolean => conditionOf(one, 'Progressing')?.status === 'False';
    await cluster.waitFor('apiscrapesource', name, settled, where);
  }
  return namespace;
}

describe('when nothing changes', () => {
  test('the operator writes nothing', { timeout: TEST_MS }, async ({ operated }) => {
    const { name: namespace } = await open(operated);
    // Pods that became ready a moment ago may still be told of.
    await delay(5_000);
    const since = new Date();
    await delay(QUIET_SECONDS * 1_000);
    const writes = (await operated.writes(since)).filter(({ user }) => user === ACCOUNT);
    expect(writes.filter((write) => write.namespace === namespace)).toEqual([]);
    // What it writes for itself is Leases, which are left out.
    expect(writes.filter((write) => write.namespace === OPERATOR)).toEqual([]);
  });

  test('a change is seen at once', { timeout: TEST_MS }, async ({ operated }) => {
    const { name: namespace } = await open(operated);
    await delay(SILENT_SECONDS * 1_000);
    const resources = [
      ['mcpadapter', 'paused', 'mcpadapters', { config: { core: { log_level: 'debug' } } }],
      ['apiscrapesource', 'one', 'apiscrapesources', { source: { frequency: '2h' } }],
    ] as const;
    for (const [resource, name, plural, spec] of resources) {
      const since = new Date();
      await operated.run('-n', namespace, 'patch', resource, name, '--type=merge', '-p', JSON.stringify({ spec }));
      const seen = (one: Live | undefined): boolean =>
        at(one, 'status', 'observedGeneration') === one?.metadata.generation;
      await operated.waitFor(resource, name, seen, { namespace });
      // Between the two requests as the API server received them. It writes its log after it has answered.
      const [changed, told] = await vi.waitFor(async () => {
        const writes = await operated.writes(since, namespace);
        const own = writes.filter((write) => write.resource === plural && write.name === name);
        return ['', 'status'].map((part) => {
          const write = own.find(({ subresource }) => subresource === part);
          if (write === undefined) throw new Error(`no write of ${resource}/${part} in the audit log`);
          return write.time.getTime();
        });
      }, AUDIT_LOG);
      const delayMs = (told ?? NaN) - (changed ?? NaN);
      console.log(`${resource}: seen after ${delayMs} ms`);
      expect(delayMs).toBeLessThan(NOTICED_MS);
    }
  });
});

describe('what others write', () => {
  test('stays: replicas of an autoscaler, labels, annotations, sidecars, restarts', async ({ operated }) => {
    await using namespace = await operated.namespace('foreign');
    const where = { namespace: namespace.name, timeoutMs: READY_MS };
    const run = (...args: string[]): Promise<string> => operated.run('-n', namespace.name, ...args);
    const scaled = { ...shared(1), autoscaling: { minReplicas: 1, maxReplicas: 4 } };
    await operated.apply(
      [...upstream('upstream'), ...redis('redis'), adapter('foreign', scaled, onRedis('redis'))],
      '-n',
      namespace.name,
    );
    await operated.waitForCondition('mcpadapter', 'foreign', 'Ready', 'True', where);

    await run('scale', 'deployment', 'foreign', '--replicas=2');
    for (const kind of ['deployment', 'service', 'configmap', 'networkpolicy', 'serviceaccount', 'pvc', 'hpa']) {
      const name = { configmap: 'foreign-config', pvc: 'foreign-storage' }[kind] ?? 'foreign';
      await run('label', kind, name, 'team=agents');
      await run('annotate', kind, name, 'example.com/note=theirs');
    }
    const sidecar = { name: 'sidecar', image: 'mcp-adapter:0.1.0', command: SLEEP };
    const withSidecar = { spec: { template: { spec: { containers: [sidecar] } } } };
    await run('patch', 'deployment', 'foreign', '--type=strategic', '-p', JSON.stringify(withSidecar));
    await run('rollout', 'restart', 'deployment', 'foreign');

    // Makes the operator write every object that depends on the spec.
    const change = { spec: { config: { core: { log_level: 'debug' } }, service: { annotations: { a: 'b' } } } };
    await run('patch', 'mcpadapter', 'foreign', '--type=merge', '-p', JSON.stringify(change));
    const live = await operated.waitForCondition('mcpadapter', 'foreign', 'Ready', 'True', where);
    expect(at(live, 'status', 'replicas')).toBe(2);
    const deployment = await operated.waitForRollout('foreign', where);
    expect(at(deployment, 'spec', 'replicas')).toBe(2);
    const template = at(deployment, 'spec', 'template');
    expect(at(template, 'metadata', 'annotations', 'kubectl.kubernetes.io/restartedAt')).toBeDefined();
    const containers = at(template, 'spec', 'containers') as { readonly name: string }[];
    expect(containers.map(({ name }) => name).sort()).toEqual(['adapter', 'sidecar']);
    for (const kind of ['deployment', 'service', 'configmap', 'networkpolicy', 'serviceaccount', 'pvc', 'hpa']) {
      const [child] = await operated.list(kind, namespace.name, 'mcpadapter.io/adapter=foreign');
      expect([kind, child?.metadata.labels?.['team'], child?.metadata.annotations?.['example.com/note']]).toEqual([
        kind,
        'agents',
        'theirs',
      ]);
    }
  });

  test('kubectl scale works on the resource itself', async ({ operated }) => {
    const { name: namespace } = await open(operated);
    for (const replicas of [1, 3]) {
      await operated.run('-n', namespace, 'scale', 'mcpadapter/three', `--replicas=${replicas}`);
      const isSo = (one: Live | undefined): boolean =>
        at(one, 'status', 'readyReplicas') === replicas &&
        at(one, 'status', 'replicas') === replicas &&
        conditionOf(one, 'Ready')?.status === 'True' &&
        conditionOf(one, 'Ready')?.observedGeneration === one?.metadata.generation;
      await operated.waitFor('mcpadapter', 'three', isSo, { namespace, timeoutMs: READY_MS });
    }
    const scale = JSON.parse(
      await operated.run(
        'get',
        '--raw',
        `/apis/mcpadapter.io/v1alpha1/namespaces/${namespace}/mcpadapters/three/scale`,
      ),
    ) as unknown;
    expect(scale).toMatchObject({
      spec: { replicas: 3 },
      status: { replicas: 3, selector: 'mcpadapter.io/adapter=three' },
    });
  });
});

const SLEEP = ['node', '-e', 'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 60_000)'];
