import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError, type KubernetesApi, type KubernetesObject } from '../kubernetes/kubernetes.ts';
import { LeaderElection, LeadershipLost } from './leader-election.ts';
import { PODS } from '../kubernetes/resources.ts';
import { leaderGatedClient } from './leader-gated-client.ts';

/** As much of an API server as one Lease needs; the contract tests use a real one. */
class OneLease {
  object: KubernetesObject | undefined;
  answers: 'at once' | 'never' = 'at once';
  #version = 0;

  get(): Promise<KubernetesObject | undefined> {
    return this.#answer(() => this.object);
  }

  create(object: KubernetesObject): Promise<KubernetesObject> {
    return this.#answer(() => this.#store(object));
  }

  replace(object: KubernetesObject): Promise<KubernetesObject> {
    return this.#answer(() => {
      if (object.metadata.resourceVersion === this.object?.metadata.resourceVersion) return this.#store(object);
      throw new ApiError(409, 'Conflict', 'the object has been modified');
    });
  }

  #store(object: KubernetesObject): KubernetesObject {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    return (this.object = { ...object, metadata });
  }

  #answer<T>(what: () => T): Promise<T> {
    return this.answers === 'never' ? new Promise(() => {}) : Promise.resolve().then(what);
  }
}

const stopping = new AbortController();
let leases: OneLease;
beforeEach(() => {
  vi.useFakeTimers();
  leases = new OneLease();
});
afterEach(() => vi.useRealTimers());

function elector(identity = 'me') {
  const api = leases as unknown as KubernetesApi;
  const election = new LeaderElection({ api, namespace: 'x', name: 'operator', identity, random: () => 0.5 });
  const signals: AbortSignal[] = [];
  void election.run((signal) => {
    signals.push(signal);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  }, stopping.signal);
  return { election, signals };
}

const spec = () => leases.object?.['spec'] as Record<string, unknown>;

it('renews every 5 s of a lease of 15 s', async () => {
  const { election } = elector();
  await vi.advanceTimersByTimeAsync(0);
  const first = spec()['renewTime'];
  await vi.advanceTimersByTimeAsync(4_900);
  expect(spec()['renewTime']).toBe(first);
  await vi.advanceTimersByTimeAsync(200);
  expect(spec()['renewTime']).not.toBe(first);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(election.leading()).toBe(true);
  expect(spec()).toMatchObject({ leaseTransitions: 0, leaseDurationSeconds: 15 });
});

it('gives up 10 s after its last renewal was sent, when the API server no longer answers', async () => {
  const { election, signals } = elector();
  await vi.advanceTimersByTimeAsync(5_100);
  leases.answers = 'never';
  await vi.advanceTimersByTimeAsync(9_800);
  expect(election.leading()).toBe(true);
  await vi.advanceTimersByTimeAsync(200);
  expect(signals[0]?.aborted).toBe(true);
  expect(signals[0]?.reason).toBeInstanceOf(LeadershipLost);
  expect(election.leading()).toBe(false);
});

it('does not lead after a freeze, before any timer has fired', async () => {
  let time = 0;
  const api = leases as unknown as KubernetesApi;
  const election = new LeaderElection({ api, namespace: 'x', name: 'o', identity: 'me', monotonic: () => time });
  void election.run(() => new Promise(() => {}), stopping.signal);
  await vi.advanceTimersByTimeAsync(0);
  expect(election.leading()).toBe(true);
  time += 10_000;
  expect(election.leading()).toBe(false);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } };
  const guarded = leaderGatedClient(api, () => election.leading(), new AbortController().signal);
  await expect(guarded.create(pod, PODS)).rejects.toThrow(LeadershipLost);
});

it('takes a Lease that has not changed for its whole duration, counted from when it was seen', async () => {
  // A holder that lives in the past and uses a longer lease.
  leases.object = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'operator', namespace: 'x', resourceVersion: '1', labels: { kept: 'yes' } },
    spec: {
      holderIdentity: 'gone',
      leaseDurationSeconds: 40,
      renewTime: '1999-01-01T00:00:00.000000Z',
      leaseTransitions: 4,
    },
  };
  const { election } = elector();
  await vi.advanceTimersByTimeAsync(39_000);
  expect(election.leading()).toBe(false);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(election.leading()).toBe(true);
  expect(spec()).toMatchObject({ holderIdentity: 'me', leaseTransitions: 5, leaseDurationSeconds: 15 });
  expect(leases.object?.metadata.labels).toEqual({ kept: 'yes' });
});

it('goes on with a Lease whose renewal arrived although its answer was lost', async () => {
  const { election, signals } = elector();
  await vi.advanceTimersByTimeAsync(100);
  const stored = leases.object;
  if (stored === undefined) throw new Error('no Lease');
  leases.object = { ...stored, metadata: { ...stored.metadata, resourceVersion: 'later' } };
  await vi.advanceTimersByTimeAsync(60_000);
  expect(election.leading()).toBe(true);
  expect(signals).toHaveLength(1);
});

it('says once what is wrong, and again when it comes back after all was well', async () => {
  const reported: string[] = [];
  const api = leases as unknown as KubernetesApi;
  const onError = (error: unknown): void => void reported.push((error as Error).message);
  const election = new LeaderElection({ api, namespace: 'x', name: 'o', identity: 'me', onError });
  const get = leases.get.bind(leases);
  leases.get = () => Promise.reject(new ApiError(403, 'Forbidden', 'leases is forbidden'));
  void election.run(() => new Promise(() => {}), stopping.signal);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reported).toEqual(['leases is forbidden']);
  leases.get = get;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(election.leading()).toBe(true);
  leases.answers = 'never';
  await vi.advanceTimersByTimeAsync(12_000);
  expect(reported.length).toBeGreaterThan(1);
});
