import { beforeEach, expect, it, vi } from 'vitest';
import { Inquiries } from '../controllers/probe-pool.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { HealthSource } from './pod-client.ts';
import { PodHearing } from './pod-health-cache.ts';

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
let said: Map<string, Health | undefined>;
let asked: string[][];
let told: number;
let release: Promise<void>;
let inquiries: Inquiries;
let hearing: PodHearing<Health>;

beforeEach(() => {
  clock = told = 0;
  said = new Map();
  asked = [];
  release = Promise.resolve();
  inquiries = new Inquiries({ onError: (error) => expect.fail(String(error)) });
  const client = {
    ask: async (pods: readonly KubernetesObject[]) => {
      const names = pods.map(({ metadata }) => metadata.name);
      asked.push(names);
      await release;
      return names.map((name) => said.get(name));
    },
  };
  hearing = new PodHearing({ client, source, inquiries, onNews: () => told++, now: () => clock });
});

const says = (name: string, status: string, time = 0) => said.set(name, { pod: name, status, time });
const answered = () => vi.waitFor(() => expect(inquiries.size).toBe(0));
const statuses = (...pods: KubernetesObject[]) => {
  const { health, isComplete } = hearing.hear(key, pods);
  return [...health.map(({ pod, status }) => `${pod} ${status}`), ...(isComplete ? [] : ['…'])];
};

it('T23: tells what was heard last without waiting, and that an answer has come', async () => {
  says('a', 'ok');
  expect(statuses(pod('a'))).toEqual(['…']);
  expect(told).toBe(0);
  await answered();
  expect(told).toBe(1);
  expect(statuses(pod('a'))).toEqual(['a ok']);
});

it('asks again when they are another, or after a while, and tells only of news', async () => {
  says('a', 'ok');
  statuses(pod('a'));
  await answered();
  statuses(pod('a'));
  expect(asked).toHaveLength(1);
  statuses(pod('a', { version: '2' }));
  await answered();
  expect([asked.length, told]).toEqual([2, 1]);
  clock = 2_000;
  says('a', 'ok', 7);
  statuses(pod('a', { version: '2' }));
  await answered();
  expect([asked.length, told]).toEqual([3, 1]);
  // Also what is no news is there for the next look.
  expect(hearing.hear(key, [pod('a', { version: '2' })]).health[0]?.time).toBe(7);
  clock = 4_000;
  says('a', 'degraded');
  expect(statuses(pod('a', { version: '2' }))).toEqual(['a ok']);
  await answered();
  expect(told).toBe(2);
  expect(statuses(pod('a', { version: '2' }))).toEqual(['a degraded']);
});

it('leaves out who does not answer, and knows that it has asked', async () => {
  says('a', 'ok');
  statuses(pod('a'), pod('b'));
  await answered();
  expect(statuses(pod('a'), pod('b'))).toEqual(['a ok']);
});

it('has heard nothing of a pod that came, or began anew at another address', async () => {
  says('a', 'ok');
  says('b', 'ok');
  statuses(pod('a'));
  await answered();
  expect(statuses(pod('a'), pod('b'))).toEqual(['a ok', '…']);
  await answered();
  expect(statuses(pod('a'), pod('b'))).toEqual(['a ok', 'b ok']);
  expect(statuses(pod('a', { ip: '10.0.0.9' }))).toEqual(['…']);
});

it('asks at once those that came while others were asked, also when these have no news', async () => {
  statuses(pod('a'));
  await answered();
  clock = 2_000;
  const { promise, resolve } = Promise.withResolvers<void>();
  release = promise;
  statuses(pod('a'));
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  statuses(pod('a'), pod('b'));
  resolve();
  await answered();
  expect(told).toBe(2);
  statuses(pod('a'), pod('b'));
  await answered();
  expect(asked).toEqual([['a'], ['a'], ['a', 'b']]);
});

it('T23: asks those apart who did not answer the last time', async () => {
  const asks = vi.spyOn(inquiries, 'ask');
  for (const status of [undefined, 'ok', 'ok']) {
    said.set('a', status === undefined ? undefined : { pod: 'a', status, time: 0 });
    statuses(pod('a'));
    await answered();
    clock += 2_000;
  }
  expect(asks.mock.calls.map(([, lane]) => lane)).toEqual(['prompt', 'slow', 'prompt']);
});

it('asks no more than so many of them', async () => {
  statuses(pod('a'), pod('b'), pod('c'));
  await answered();
  expect(asked).toEqual([['a', 'b']]);
  expect(statuses()).toEqual([]);
});

it('asks those that come again while those before them are asked, also when these have no news', async () => {
  says('a', 'ok');
  statuses(pod('a'));
  await answered();
  clock = 2_000;
  const { promise, resolve } = Promise.withResolvers<void>();
  release = promise;
  statuses(pod('a'));
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  hearing.forget(key);
  expect(statuses(pod('a'))).toEqual(['…']);
  resolve();
  await answered();
  expect(told).toBe(2);
  expect(statuses(pod('a'))).toEqual(['…']);
  await answered();
  expect(statuses(pod('a'))).toEqual(['a ok']);
});

it('forgets who has gone, also while they are asked', async () => {
  says('a', 'ok');
  const { promise, resolve } = Promise.withResolvers<void>();
  release = promise;
  statuses(pod('a'));
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  hearing.forget(key);
  resolve();
  await answered();
  expect(told).toBe(0);
  expect(statuses(pod('a'))).toEqual(['…']);
});
