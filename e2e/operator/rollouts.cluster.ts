import { afterAll, describe, expect } from 'vitest';
import { within } from '../adapter/kit/within.ts';
import { type Cluster } from '../cluster/cluster.ts';
import { at, CLUSTER_BIN, execute } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { openRawClient } from '../support/raw-client.ts';
import { connectV1 } from '../support/real-client-v1.ts';
import { connectV2 } from '../support/real-client-v2.ts';
import type { Answers } from '../support/real-client.ts';
import { startLoad } from './kit/load.ts';
import { realLongCall, rawLongCall } from './kit/long-call.ts';
import { ADAPTER, Stage } from './kit/stage.ts';

/** How long a tool call takes that is under way while pods are replaced. */
const LONG_SECONDS = 30;
const RAW_LONG_CALLS = 6;
const CALLS_AFTERWARDS = 10;
const GONE_MS = 180_000;
/** A minute on a machine that has nothing else to do. */
const TEST_MS = 600_000;
const answers: Answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] };

let set: Promise<Stage> | undefined;
const staged = (cluster: Cluster): Promise<Stage> => (set ??= Stage.set(cluster));

afterAll(async () => {
  await (await set)?.[Symbol.asyncDispose]();
});

/**
 * No client notices that pods are replaced: every call of every session gets its result at the first attempt, on
 * connections that are kept open, from inside and outside of the cluster; and so does a call that runs all the while.
 */
describe('while clients call without a pause', { timeout: TEST_MS }, () => {
  test('a change of the configuration', async ({ operated }) => {
    const stage = await staged(operated);
    const before = await podNames(stage);
    await underLoad(stage, async () => {
      await stage.patch({ config: { sessions: { max_active: 1_000 + (Date.now() % 1_000) } } });
      await stage.ready();
      await onlyNewPods(stage, before, 3);
    });
  });

  test('a change of the image', async ({ operated }) => {
    const stage = await staged(operated);
    const before = await podNames(stage);
    const image = await stage.image();
    const other = `mcp-adapter:rollout-${Date.now().toString(36)}`;
    await operated.tag(`docker.io/library/${image}`, `docker.io/library/${other}`);
    await underLoad(stage, async () => {
      await stage.patch({ image: other });
      await stage.ready();
      await onlyNewPods(stage, before, 3);
    });
    expect(await stage.image()).toBe(other);
  });

  test('fewer replicas, and more again', async ({ operated }) => {
    const stage = await staged(operated);
    const before = await podNames(stage);
    await underLoad(stage, async () => {
      await operated.run('scale', 'mcpadapter', ADAPTER, '--replicas=1', '-n', stage.namespace);
      await stage.ready();
      await eventuallyPods(stage, (names) => names.length === 1 && before.includes(names[0] ?? ''));
      await operated.run('scale', 'mcpadapter', ADAPTER, '--replicas=3', '-n', stage.namespace);
      await stage.ready();
    });
    expect(await podNames(stage)).toHaveLength(3);
  });

  test('a node that is drained', async ({ operated }) => {
    const stage = await staged(operated);
    const placed = await stage.pods();
    expect(new Set(placed.map((pod) => at(pod, 'spec', 'nodeName'))), 'pods on both nodes').toEqual(
      new Set(operated.nodes),
    );
    try {
      await underLoad(stage, async () => {
        await drain(operated, 'node2');
        await stage.ready();
      });
      const nodes = (await stage.pods()).map((pod) => at(pod, 'spec', 'nodeName'));
      expect(nodes).toEqual(['node1', 'node1', 'node1']);
    } finally {
      await operated.run('uncordon', 'node2');
    }
  });
});

/** Runs a change between the beginning and the end of long calls, with load all the time, and expects no failure. */
async function underLoad(stage: Stage, change: () => Promise<void>): Promise<void> {
  const connect = { url: stage.url, transport: 'streamable_http', answers } as const;
  await using v1 = await connectV1(connect);
  await using v2 = await connectV2(connect);
  const raw = await Promise.all(Array.from({ length: RAW_LONG_CALLS }, () => openRawClient(stage.url)));
  const began = new Date();
  const inside = await stage.insideTally(began);
  await using load = await startLoad(stage.url, { sessions: 4, pauseMs: 20 });

  const long = await Promise.all([
    ...raw.map((session) => rawLongCall(session, LONG_SECONDS)),
    ...[v1, v2].map((client) => realLongCall(client, LONG_SECONDS)),
  ]);
  const changed = change();
  changed.catch(() => undefined);
  const ended = await Promise.allSettled(long.map((call) => call.ended));
  await changed;
  // Those who were there before can go on.
  await load.more(CALLS_AFTERWARDS, 60_000);
  for (const client of [v1, v2]) {
    expect(await client.callTool('word_count', { text: 'a b' })).toMatchObject({ structuredContent: { words: 2 } });
  }
  for (const session of raw) {
    expect(await session.callTool('word_count', { text: 'a b' })).toMatchObject({ result: { content: [{}] } });
  }

  const progress = Array.from({ length: LONG_SECONDS }, (_, second) => second + 1);
  const result = { progress, text: `waited ${LONG_SECONDS} s` };
  expect(ended).toEqual(long.map(() => ({ status: 'fulfilled', value: result })));
  const outside = load.tally();
  const insideNow = await stage.insideTally(began);
  console.log(`calls: ${outside.calls} outside, ${insideNow.calls - inside.calls} inside; failures: 0 expected`);
  expect([...outside.failures, ...insideNow.failures]).toEqual([]);
  expect(insideNow.calls).toBeGreaterThan(inside.calls);
}

const podNames = async (stage: Stage): Promise<string[]> => (await stage.pods()).map(({ metadata }) => metadata.name);

const onlyNewPods = (stage: Stage, old: readonly string[], count: number): Promise<void> =>
  eventuallyPods(stage, (names) => names.length === count && !names.some((name) => old.includes(name)));

async function eventuallyPods(stage: Stage, isSo: (names: readonly string[]) => boolean): Promise<void> {
  await expect.poll(async () => isSo(await podNames(stage)), { timeout: GONE_MS, interval: 1_000 }).toBe(true);
}

/** Only of the adapters' pods: what else runs there is somebody else's. */
async function drain(cluster: Cluster, node: string): Promise<void> {
  const options = ['--ignore-daemonsets', '--delete-emptydir-data', `--pod-selector=mcpadapter.io/adapter=${ADAPTER}`];
  const kubectl = ['--kubeconfig', cluster.kubeconfig];
  const args = [...kubectl, 'drain', node, ...options, `--timeout=${GONE_MS / 1_000}s`];
  await within(2 * GONE_MS, `${node} drained`, execute(`${CLUSTER_BIN}/kubectl`, args, '', { timeoutMs: 2 * GONE_MS }));
}
