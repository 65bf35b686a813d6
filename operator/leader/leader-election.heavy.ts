import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { LeaderElection, type LeaderElectionOptions, WorkGoesOn } from './leader-election.ts';
import { leaseOwner } from './lease-owner.ts';
import { CONFIG_MAPS, DEPLOYMENTS, LEASES } from '../kubernetes/resources.ts';
import { recordedApi, type RealApi, startRealApi, writesOf } from '../kubernetes/testing/real-api.ts';

/** Renewed every second, given up after two, free for others after three. */
const LEASE_MS = 3_000;

const POD = { containers: [{ name: 'operator', image: 'operator' }] };

interface Term {
  readonly who: string;
  readonly from: number;
  until: number;
}

let real: RealApi;
beforeAll(async () => {
  real = await startRealApi();
}, 20 * 60_000);
afterAll(async () => {
  await real?.[Symbol.asyncDispose]();
}, 60_000);

/** Electors for one Lease, and when each of them led. */
async function arena() {
  const namespace = await real.namespace();
  const terms: Term[] = [];
  const stops: (() => Promise<void>)[] = [];
  const at = { namespace, name: 'operator' };

  /** An operator whose work ends as soon as it is told to; its API can be frozen, and fail. */
  const elector = (who: string, options: Partial<LeaderElectionOptions> = {}) => {
    let thaw: (() => void) | undefined;
    let frozen: Promise<void> = Promise.resolve();
    let failing = false;
    const stopping = new AbortController();
    const { api, requests } = recordedApi(real.api, async () => {
      await frozen;
      if (failing) throw new Error('connect ECONNREFUSED');
    });
    const election = new LeaderElection({ ...at, identity: who, leaseMs: LEASE_MS, ...options, api });
    const ran = election.run(async (signal) => {
      const term: Term = { who, from: performance.now(), until: Infinity };
      terms.push(term);
      if (!signal.aborted) await once(signal, 'abort');
      term.until = performance.now();
    }, stopping.signal);
    ran.catch(() => {});
    const stop = async (): Promise<void> => {
      stopping.abort();
      thaw?.();
      failing = false;
      await ran;
    };
    stops.push(stop);
    return {
      election,
      requests,
      stop,
      freeze: () => {
        frozen = new Promise((resolve) => (thaw = resolve));
      },
      thaw: () => thaw?.(),
      fail: (now: boolean) => {
        failing = now;
      },
    };
  };

  return {
    namespace,
    at,
    terms,
    elector,
    leads: (who: string, timeout = 10_000): Promise<void> =>
      vi.waitFor(() => expect(terms.at(-1)?.who).toBe(who), { timeout, interval: 5 }),
    lease: async () => {
      const object = await real.api.get(LEASES, at);
      return object as KubernetesObject & { readonly spec: Record<string, unknown> };
    },
    expectOneAtATime: () => {
      const inOrder = [...terms].sort((a, b) => a.from - b.from);
      for (const [place, term] of inOrder.entries()) {
        const next = inOrder[place + 1];
        if (next !== undefined) expect(term.until, `${term.who} before ${next.who}`).toBeLessThan(next.from);
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

describe.concurrent('leader election', () => {
  it('lets one of five lead that start at once', async () => {
    await using test = await arena();
    const { terms, elector, lease } = test;
    const electors = ['a', 'b', 'c', 'd', 'e'].map((who) => elector(who));
    await vi.waitFor(() => expect(terms).toHaveLength(1), { timeout: 5_000 });
    await delay(2 * LEASE_MS);
    expect(terms).toHaveLength(1);
    expect(electors.filter(({ election }) => election.leading())).toHaveLength(1);
    const { spec } = await lease();
    expect(spec).toMatchObject({ holderIdentity: terms[0]?.who, leaseDurationSeconds: 3, leaseTransitions: 0 });
    expect(spec['renewTime']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('hands over in less than 2 s when the leader stops, with the usual lease', async () => {
    await using test = await arena();
    const { elector, leads, lease, expectOneAtATime } = test;
    const first = elector('first', { leaseMs: 15_000 });
    await leads('first');
    elector('second', { leaseMs: 15_000 });
    await delay(1_500);
    const stopped = performance.now();
    await first.stop();
    await leads('second');
    expect(performance.now() - stopped).toBeLessThan(2_000);
    expectOneAtATime();
    expect((await lease()).spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
  });

  it('O6: has a Lease that goes with the operator, also one that is there already', async () => {
    await using test = await arena();
    const { at, elector, leads, lease } = test;
    const spec = { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: POD } };
    const stranger = elector('a', { owner: () => Promise.reject(new Error('forbidden')) });
    await leads('a');
    expect((await lease()).metadata.ownerReferences).toBeUndefined();
    await stranger.stop();
    const { apiVersion, kind } = DEPLOYMENTS;
    const { metadata } = await real.api.create({ apiVersion, kind, metadata: at, spec }, DEPLOYMENTS);
    elector('b', { owner: (signal) => leaseOwner(real.api, at, signal) });
    await leads('b');
    expect((await lease()).metadata.ownerReferences).toEqual([{ apiVersion, kind, name: at.name, uid: metadata.uid }]);
  });

  it('renews three times in a lease while all is well', async () => {
    await using test = await arena();
    const { elector, leads } = test;
    const { requests } = elector('first');
    await leads('first');
    await delay(2 * LEASE_MS);
    expect(writesOf(requests).length).toBeGreaterThanOrEqual(5);
    expect(writesOf(requests).length).toBeLessThanOrEqual(8);
  });

  it('ends the work of a leader whose API hangs before another leads, though the clocks differ by hours', async () => {
    await using test = await arena();
    const { terms, elector, leads, lease, expectOneAtATime } = test;
    const hour = 3_600_000;
    const first = elector('first', { now: () => new Date(Date.now() + hour) });
    await leads('first');
    elector('second', { now: () => new Date(Date.now() - hour) });
    elector('third', { now: () => new Date(Date.now() + 24 * hour) });
    await delay(2 * LEASE_MS);
    expect(terms.map(({ who }) => who)).toEqual(['first']);
    first.freeze();
    await vi.waitFor(() => expect(terms).toHaveLength(2), { timeout: 10_000, interval: 5 });
    expectOneAtATime();
    // The third of the lease that is left for requests on their way, less what the answer took.
    expect((terms[1]?.from ?? 0) - (terms[0]?.until ?? 0)).toBeGreaterThan(LEASE_MS / 3 - 100);
    // What hung arrives late, and changes nothing.
    first.thaw();
    await delay(LEASE_MS);
    expect(terms).toHaveLength(2);
    expect((await lease()).spec).toMatchObject({ holderIdentity: terms[1]?.who });
  });

  it('goes on leading through a short outage of the API, and leads again after a long one', async () => {
    await using test = await arena();
    const { terms, elector, leads, expectOneAtATime } = test;
    const first = elector('first');
    await leads('first');
    // Over the first renewal, and its repetitions until the last one succeeds in time.
    first.fail(true);
    await delay(LEASE_MS * 0.4);
    first.fail(false);
    await delay(LEASE_MS);
    expect(terms).toHaveLength(1);
    first.fail(true);
    await delay(LEASE_MS);
    expect(terms[0]?.until).toBeLessThan(Infinity);
    first.fail(false);
    await vi.waitFor(() => expect(terms).toHaveLength(2), { timeout: 5_000 });
    expectOneAtATime();
  });

  it('ends the work when someone else was given the Lease, or it was deleted', async () => {
    await using test = await arena();
    const { namespace, at, terms, elector, leads, expectOneAtATime } = test;
    const first = elector('first');
    await leads('first');
    const patch = ['patch', 'lease', 'operator', '--type', 'merge', '-p', '{"spec":{"holderIdentity":"someone"}}'];
    await real.server.kubectl('-n', namespace, ...patch);
    await vi.waitFor(() => expect(terms[0]?.until).toBeLessThan(Infinity), { timeout: 2_000 });
    // Who was given it never renews.
    await vi.waitFor(() => expect(terms).toHaveLength(2), { timeout: 10_000 });
    await real.api.delete(LEASES, at);
    await vi.waitFor(() => expect(terms).toHaveLength(3), { timeout: 5_000 });
    expect(first.election.leading()).toBe(true);
    expectOneAtATime();
  });

  it('keeps the Lease while the work ends', async () => {
    await using test = await arena();
    const { at, terms, elector, leads } = test;
    const stopping = new AbortController();
    let finish = (): void => {};
    const slow = new LeaderElection({ api: real.api, ...at, identity: 'slow', leaseMs: LEASE_MS });
    const ran = slow.run(() => new Promise<void>((resolve) => (finish = resolve)), stopping.signal);
    await vi.waitFor(() => expect(slow.leading()).toBe(true), { timeout: 5_000 });
    elector('second');
    stopping.abort();
    await delay(2 * LEASE_MS);
    expect(terms).toEqual([]);
    finish();
    await ran;
    await leads('second', 2_000);
  });

  it('does not release the Lease under work that does not end', async () => {
    await using test = await arena();
    const { at, lease } = test;
    const options = { api: real.api, ...at, identity: 'stuck', leaseMs: LEASE_MS, stopMs: 500 };
    const stuck = new LeaderElection(options);
    const stop = new AbortController();
    const ends = stuck.run(() => new Promise<void>(() => {}), stop.signal);
    await vi.waitFor(() => expect(stuck.leading()).toBe(true), { timeout: 5_000 });
    stop.abort();
    await expect(ends).rejects.toThrow(WorkGoesOn);
    expect((await lease()).spec).toMatchObject({ holderIdentity: 'stuck' });
  });

  it('releases the Lease when the work fails, and says why', async () => {
    await using test = await arena();
    const { at, lease } = test;
    const failing = new LeaderElection({ api: real.api, ...at, identity: 'failing' });
    const ran = failing.run(() => Promise.reject(new Error('no permission')), new AbortController().signal);
    await expect(ran).rejects.toThrow('no permission');
    expect((await lease()).spec).toMatchObject({ holderIdentity: '' });
  });

  it('writes nothing after a freeze of the whole process in which another took over', async () => {
    await using test = await arena();
    const { namespace, elector, leads } = test;
    const { apiVersion, kind } = CONFIG_MAPS;
    await real.api.create({ apiVersion, kind, metadata: { name: 'written', namespace } }, CONFIG_MAPS);
    const program = join(import.meta.dirname, 'testing', 'elector-process.ts');
    const args = [program, real.server.kubeconfig, namespace, 'frozen', String(LEASE_MS)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await vi.waitFor(() => expect(output).toContain('leads'), { timeout: 20_000 });
      await vi.waitFor(async () => expect(await writer(namespace)).toBe('frozen'), { timeout: 10_000 });
      child.kill('SIGSTOP');
      const second = elector('second');
      await leads('second');
      await real.api.merge({ data: { writer: 'second' } }, CONFIG_MAPS, { name: 'written', namespace });
      child.kill('SIGCONT');
      await vi.waitFor(() => expect(output).toContain('ended'), { timeout: 10_000 });
      expect(await writer(namespace)).toBe('second');
      expect(second.election.leading()).toBe(true);
    } finally {
      child.kill('SIGKILL');
    }
  }, 60_000);
});

async function writer(namespace: string): Promise<unknown> {
  const object = await real.api.get(CONFIG_MAPS, { name: 'written', namespace });
  return (object?.['data'] as Record<string, unknown> | undefined)?.['writer'];
}
