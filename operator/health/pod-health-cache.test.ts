import { beforeEach, expect, it, vi } from 'vitest';
import { ProbePool } from '../controllers/probe-pool.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { HealthSource } from './pod-client.ts';
import { PodHealthCache } from './pod-health-cache.ts';

interface Health {
  readonly pod: string;
  readonly status: string;
  readonly time: number;
}

const key = { namespace: 'team', name: 'demo' };
const source: HealthSource<Health> = {
  container: 'program',
  port: 'web',
  maxPods: 2,
  maxBytes: 1024,
  parse: () => undefined,
  news: ({ status }) => status,
};

function pod(name: string, { version = '1', ip = '10.0.0.1' } = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'team', uid: `uid-${name}`, resourceVersion: version },
    spec: { containers: [{ name: 'program', ports: [{ name: 'web', containerPort: 80 }] }] },
    status: { phase: 'Running', podIP: ip },
  };
}

let clock: number;
let answers: Map<string, Health | undefined>;
let probed: string[][];
let news: number;
let release: Promise<void>;
let probePool: ProbePool;
let podHealth: PodHealthCache<Health>;

beforeEach(() => {
  clock = news = 0;
  answers = new Map();
  probed = [];
  release = Promise.resolve();
  probePool = new ProbePool({ onError: (error) => expect.fail(String(error)) });
  const client = {
    probe: async (pods: readonly KubernetesObject[]) => {
      const names = pods.map(({ metadata }) => metadata.name);
      probed.push(names);
      await release;
      return names.map((name) => answers.get(name));
    },
  };
  podHealth = new PodHealthCache({ client, source, probePool, onNews: () => news++, now: () => clock });
});

const answersWith = (name: string, status: string, time = 0) => answers.set(name, { pod: name, status, time });
const answered = () => vi.waitFor(() => expect(probePool.size).toBe(0));
const statuses = (...pods: KubernetesObject[]) => {
  const { health, isComplete } = podHealth.get(key, pods);
  return [...health.map(({ pod, status }) => `${pod} ${status}`), ...(isComplete ? [] : ['…'])];
};

it('T23: tells what was heard last without waiting, and that an answer has come', async () => {
  answersWith('a', 'ok');
  expect(statuses(pod('a'))).toEqual(['…']);
  expect(news).toBe(0);
  await answered();
  expect(news).toBe(1);
  expect(statuses(pod('a'))).toEqual(['a ok']);
});

it('asks again when they are another, or after a while, and tells only of news', async () => {
  answersWith('a', 'ok');
  statuses(pod('a'));
  await answered();
  statuses(pod('a'));
  expect(probed).toHaveLength(1);
  statuses(pod('a', { version: '2' }));
  await answered();
  expect([probed.length, news]).toEqual([2, 1]);
  clock = 2_000;
  answersWith('a', 'ok', 7);
  statuses(pod('a', { version: '2' }));
  await answered();
  expect([probed.length, news]).toEqual([3, 1]);
  // Also what is no news is there for the next look.
  expect(podHealth.get(key, [pod('a', { version: '2' })]).health[0]?.time).toBe(7);
  clock = 4_000;
  answersWith('a', 'degraded');
  expect(statuses(pod('a', { version: '2' }))).toEqual(['a ok']);
  await answered();
  expect(news).toBe(2);
  expect(statuses(pod('a', { version: '2' }))).toEqual(['a degraded']);
});

it('leaves out who does not answer, and knows that it has asked', async () => {
  answersWith('a', 'ok');
  statuses(pod('a'), pod('b'));
  await answered();
  expect(statuses(pod('a'), pod('b'))).toEqual(['a ok']);
});

it('has heard nothing of a pod that came, or began anew at another address', async () => {
  answersWith('a', 'ok');
  answersWith('b', 'ok');
  statuses(pod('a'));
  await answered();
  expect(statuses(pod('a'), pod('b'))).toEqual(['a ok', '…']);
  await answered();
  expect(statuses(pod('a'), pod('b'))).toEqual(['a ok', 'b ok']);
  expect(statuses(pod('a', { ip: '10.0.0.9' }))).toEqual(['…']);
});

it('asks at once those that came while others were probed, also when these have no news', async () => {
  statuses(pod('a'));
  await answered();
  clock = 2_000;
  const { promise, resolve } = Promise.withResolvers<void>();
  release = promise;
  statuses(pod('a'));
  await vi.waitFor(() => expect(probed).toHaveLength(2));
  statuses(pod('a'), pod('b'));
  resolve();
  await answered();
  expect(news).toBe(2);
  statuses(pod('a'), pod('b'));
  await answered();
  expect(probed).toEqual([['a'], ['a'], ['a', 'b']]);
});

it('T23: asks those apart who did not answer the last time', async () => {
  const starts = vi.spyOn(probePool, 'start');
  for (const status of [undefined, 'ok', 'ok']) {
    answers.set('a', status === undefined ? undefined : { pod: 'a', status, time: 0 });
    statuses(pod('a'));
    await answered();
    clock += 2_000;
  }
  expect(starts.mock.calls.map(([, lane]) => lane)).toEqual(['prompt', 'slow', 'prompt']);
});

it('asks no more than so many of them', async () => {
  statuses(pod('a'), pod('b'), pod('c'));
  await answered();
  expect(probed).toEqual([['a', 'b']]);
  expect(statuses()).toEqual([]);
});

it('asks those that come again while those before them are probed, also when these have no news', async () => {
  answersWith('a', 'ok');
  statuses(pod('a'));
  await answered();
  clock = 2_000;
  const { promise, resolve } = Promise.withResolvers<void>();
  release = promise;
  statuses(pod('a'));
  await vi.waitFor(() => expect(probed).toHaveLength(2));
  podHealth.forget(key);
  expect(statuses(pod('a'))).toEqual(['…']);
  resolve();
  await answered();
  expect(news).toBe(2);
  expect(statuses(pod('a'))).toEqual(['…']);
  await answered();
  expect(statuses(pod('a'))).toEqual(['a ok']);
});

it('forgets who has gone, also while they are asked', async () => {
  answersWith('a', 'ok');
  const { promise, resolve } = Promise.withResolvers<void>();
  release = promise;
  statuses(pod('a'));
  await vi.waitFor(() => expect(probed).toHaveLength(1));
  podHealth.forget(key);
  resolve();
  await answered();
  expect(news).toBe(0);
  expect(statuses(pod('a'))).toEqual(['…']);
});
