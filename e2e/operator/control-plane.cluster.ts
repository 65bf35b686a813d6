import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import type { Cluster, Part } from '../cluster/cluster.ts';
import { at, type Live } from '../cluster/kubectl.ts';
import { OPERATOR } from '../cluster/shared-cluster.ts';
import { test } from '../cluster/test.ts';
import { killProgram, orphans, PAIR, Patient, SINGLE } from './kit/healing.ts';
import { adapter, CHILD_KINDS, source } from './kit/resources.ts';

const MANY = 20;
const GROUPS = 4;
/** What an adapter without claim and with its defaults consists of. */
const CHILDREN_EACH = 5;
const SETTLED_MS = 180_000;
/** Pods take their time to start on a machine that has much to do. */
const TEST_MS = 600_000;
const OPERATOR_PODS = 'app.kubernetes.io/name=mcp-operator,app.kubernetes.io/instance=mcp-operator';

let admitted: Promise<Patient> | undefined;
const admit = (cluster: Cluster): Promise<Patient> => (admitted ??= Patient.admit(cluster, 'control-plane'));

afterAll(async () => {
  await (await admitted)?.[Symbol.asyncDispose]();
});

describe('a crash of', () => {
  for (const part of ['apiserver', 'etcd'] as const) {
    test(`${part}, with changes before and after it`, { timeout: TEST_MS }, async ({ operated }) => {
      const patient = await admit(operated);
      const before = await patient.children({ uids: false });
      await crash(operated, part, async () => {
        await patient.run('delete', 'deployment', SINGLE, '--wait=false');
        await patient.merge('configmap', `${PAIR}-config`, { data: { 'config.yaml': 'servers: []' } });
      });
      await patient.merge('service', PAIR, { spec: { selector: { 'mcpadapter.io/adapter': 'nobody' } } });
      await patient.restored(before, { uids: false });
      const level = part === 'etcd' ? 'warning' : 'debug';
      await patient.merge('mcpadapter', SINGLE, { spec: { config: { core: { log_level: level } } } });
      await patient.healthy();
      const config = await operated.get('configmap', `${SINGLE}-config`, patient.namespace);
      expect(at(config, 'data', 'config.yaml')).toContain(level);
      expect(await patient.diagnosis()).toEqual([]);
    });
  }

  test(
    'the operator while it makes many objects, and while it takes them away',
    { timeout: TEST_MS },
    async ({ operated }) => {
      await using namespace = await operated.namespace('killed');
      const names = Array.from({ length: MANY }, (_, index) => `many-${index}`);
      const memory = { state_persistence: { type: 'memory' } };
      // Without pods: this is about what the operator writes.
      const adapters = names.map((name) => adapter(name, { replicas: 0 }, memory));
      const sources = Array.from({ length: GROUPS }, (_, index) => source(`source-${index}`, `group-${index}`));
      await operated.apply([...adapters, ...sources], '-n', namespace.name);

      for (const part of [MANY / 4, MANY / 2]) {
        await reaches(operated, namespace.name, part);
        await killProgram(operated, await leader(operated));
      }
      for (const name of names) {
        const where = { namespace: namespace.name, timeoutMs: SETTLED_MS };
        await operated.waitForCondition('mcpadapter', name, 'Ready', 'True', where);
      }
      const made = await operated.list(CHILD_KINDS.join(','), namespace.name, 'mcpadapter.io/adapter');
      expect(made).toHaveLength(MANY * CHILDREN_EACH);
      expect(await orphans(operated, namespace.name)).toEqual([]);

      // One kind of children less, and half of the resources.
      const patch = JSON.stringify({ spec: { networkPolicy: { enabled: false } } });
      const kept = names.slice(0, MANY / 2);
      const leaving = names.slice(MANY / 2);
      await Promise.all([
        ...kept.map((name) =>
          operated.run('-n', namespace.name, 'patch', 'mcpadapter', name, '--type=merge', '-p', patch),
        ),
        operated.run('-n', namespace.name, 'delete', 'mcpadapter', ...leaving, '--wait=false'),
        operated.run('-n', namespace.name, 'delete', 'apiscrapesource', 'source-0', '--wait=false'),
      ]);
      await killProgram(operated, await leader(operated));
      const left = (): Promise<number> =>
        operated.list(CHILD_KINDS.join(','), namespace.name, 'mcpadapter.io/adapter').then(({ length }) => length);
      await expect.poll(left, { timeout: SETTLED_MS, interval: 500 }).toBe((MANY / 2) * (CHILDREN_EACH - 1));
      await expect.poll(() => orphans(operated, namespace.name), { timeout: SETTLED_MS, interval: 500 }).toEqual([]);
      for (const name of kept) {
        const where = { namespace: namespace.name, timeoutMs: SETTLED_MS };
        await operated.waitForCondition('mcpadapter', name, 'Ready', 'True', where);
      }
    },
  );
});

describe('two operators', () => {
  test('one works at a time, and the other goes on when it crashes', { timeout: TEST_MS }, async ({ operated }) => {
    const patient = await admit(operated);
    try {
      await operated.run('-n', OPERATOR, 'scale', 'deployment', OPERATOR, '--replicas=2');
      await operated.waitForRollout(OPERATOR, { namespace: OPERATOR, timeoutMs: SETTLED_MS });
      const before = await patient.children({ uids: false });
      const since = new Date();
      const first = await leader(operated);
      await patient.run('delete', 'deployment', SINGLE, '--wait=false');
      await patient.restored(before, { uids: false });
      expect(await leading(operated)).toEqual([first.metadata.name]);

      await killProgram(operated, first);
      await patient.run('delete', 'deployment', SINGLE, '--wait=false');
      await patient.merge('service', PAIR, { spec: { selector: { 'mcpadapter.io/adapter': 'nobody' } } });
      await patient.restored(before, { uids: false });
      await patient.healthy();
      await expect.poll(() => leading(operated), { timeout: SETTLED_MS }).toHaveLength(1);

      // In turns: nobody writes again after another has begun.
      const turns = await writers(operated, since);
      expect(new Set(turns).size).toBe(turns.length);
      expect(turns.length).toBeGreaterThan(1);
      expect(await patient.diagnosis()).toEqual([]);
    } finally {
      await operated.run('-n', OPERATOR, 'scale', 'deployment', OPERATOR, '--replicas=1');
      await operated.waitForRollout(OPERATOR, { namespace: OPERATOR, timeoutMs: SETTLED_MS });
    }
  });
});

/** Changes, and the crash right behind them. */
async function crash(cluster: Cluster, part: Part, changes: () => Promise<void>): Promise<void> {
  await changes();
  await cluster.restart(part, 'KILL');
}

/** Until there are so many Deployments of adapters. */
async function reaches(cluster: Cluster, namespace: string, count: number): Promise<void> {
  const made = (): Promise<number> =>
    cluster.list('deployment', namespace, 'mcpadapter.io/adapter').then(({ length }) => length);
  await expect.poll(made, { timeout: SETTLED_MS, interval: 50 }).toBeGreaterThanOrEqual(count);
}

/** The pod of the operator that holds the lease, with a program that runs. */
async function leader(cluster: Cluster): Promise<Live> {
  let found: Live | undefined;
  const find = async (): Promise<boolean> => {
    const names = await leading(cluster);
    const pods = await cluster.list('pod', OPERATOR, OPERATOR_PODS);
    found = pods.find(({ metadata }) => metadata.name === names[0]);
    return found !== undefined;
  };
  await expect.poll(find, { timeout: SETTLED_MS, interval: 250 }).toBe(true);
  return found as Live;
}

/** Names of the pods that say that they lead. */
async function leading(cluster: Cluster): Promise<string[]> {
  const pods = await cluster.list('pod', OPERATOR, OPERATOR_PODS);
  const said = await Promise.all(pods.map(async (pod) => ((await leads(pod)) ? [pod.metadata.name] : [])));
  return said.flat();
}

async function leads(pod: Live): Promise<boolean> {
  try {
    const url = `http://${String(at(pod, 'status', 'podIP'))}:8080/metrics`;
    const metrics = await (await fetch(url, { signal: AbortSignal.timeout(5_000) })).text();
    return /^mcp_operator_leader 1$/m.test(metrics);
  } catch {
    return false;
  }
}

/** The operator's pods in the order in which they wrote since then, one entry for each turn. */
async function writers(cluster: Cluster, since: Date): Promise<string[]> {
  const turns: string[] = [];
  for (const line of (await readFile(join(cluster.dir, 'audit.log'), 'utf8')).split('\n')) {
    if (!line.endsWith('}')) continue;
    const event = JSON.parse(line) as Record<string, unknown>;
    const resource = at(event, 'objectRef', 'resource');
    if (resource === 'leases' || resource === 'events' || new Date(String(event['stageTimestamp'])) < since) continue;
    const pod = at(event, 'user', 'extra', 'authentication.kubernetes.io/pod-name', 0);
    if (at(event, 'user', 'username') !== `system:serviceaccount:${OPERATOR}:${OPERATOR}` || typeof pod !== 'string')
      continue;
    if (turns.at(-1) !== pod) turns.push(pod);
  }
  return turns;
}
