import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { fileRecord } from '../files/testing/stored-files.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { SweepLoop, cleanUp, type CleanupSettings, endExpired, type TakenSessions } from './sweep-loop.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';

const SETTINGS: CleanupSettings = { idleTtlMs: 100, allowRevival: true, tombstoneTtlMs: 500, workspaceTtlMs: 1000 };

describe('a pass of the cleanup', () => {
  let store: MemoryStore;

  beforeEach(async () => {
    store = new MemoryStore();
    for (const [name, lastActiveAt] of [
      ['old', 0],
      ['busy', 0],
      ['new', 60],
    ] as const) {
      await store.open(sessionRecord({ sessionId: name, lastActiveAt }));
    }
    const caller = { principal: '', now: 0 };
    await store.enter({ serverId: 's1', sessionId: 'busy' }, caller, { id: 'call', until: 10_000, maxInFlight: null });
  });

  async function clean(settings: CleanupSettings, now: number): Promise<TakenSessions> {
    const taken: TakenSessions = { expired: [], purged: [], workspaces: [] };
    await cleanUp(store, settings, now, taken);
    return taken;
  }
  const ids = (records: readonly { sessionId: string }[]): string[] => records.map(({ sessionId }) => sessionId).sort();

  test('turns idle sessions into tombstones, and removes those when their time is over', async () => {
    const first = await clean(SETTINGS, 120);
    expect([ids(first.expired), ids(first.purged)]).toEqual([['old'], []]);
    expect(await store.counts(120)).toEqual({ sessions: 2, tombstones: 1, inFlight: 1 });
    const second = await clean(SETTINGS, 619);
    expect([ids(second.expired), ids(second.purged)]).toEqual([['new'], []]);
    const third = await clean(SETTINGS, 620);
    expect([ids(third.expired), ids(third.purged)]).toEqual([[], ['old']]);
    // The call has ended by now: its lease is over.
    expect(ids((await clean(SETTINGS, 10_001)).expired)).toEqual(['busy']);
  });

  test('deletes idle sessions where they cannot come back', async () => {
    const { expired } = await clean({ ...SETTINGS, allowRevival: false }, 120);
    expect(ids(expired)).toEqual(['old']);
    expect(await store.counts(120)).toMatchObject({ sessions: 2, tombstones: 0 });
  });

  test('leaves idle sessions alone where they do not expire', async () => {
    const { expired, purged } = await clean({ ...SETTINGS, idleTtlMs: null }, 1e9);
    expect([expired, purged, await store.counts(1e9)]).toMatchObject([[], [], { sessions: 3 }]);
  });

  test('removes workspaces that were empty for too long, also where sessions do not expire', async () => {
    const workspace = { protocolVersion: '2026-07-28', upstreamSessionId: null, initializeParams: '{}' };
    await store.open(sessionRecord({ ...workspace, sessionId: 'empty', lastActiveAt: 0 }));
    await store.open(sessionRecord({ ...workspace, sessionId: 'recent', lastActiveAt: 1 }));
    await store.open(sessionRecord({ ...workspace, sessionId: 'full', lastActiveAt: 0 }));
    const file = fileRecord({ serverId: 's1', sessionId: 'full', leaseUntil: 10_000 });
    await store.files.begin([file], { now: 0, maxArtifacts: null });
    const settings = { ...SETTINGS, idleTtlMs: null, workspaceTtlMs: 1000 };
    expect(ids((await clean(settings, 1000)).workspaces)).toEqual([]);
    const second = await clean(settings, 1001);
    expect([ids(second.workspaces), second.expired, second.purged]).toEqual([['empty'], [], []]);
    const find = (sessionId: string) => store.find({ serverId: 's1', sessionId }, { principal: '', now: 1001 });
    expect(await find('empty')).toEqual({ state: 'unknown' });
    for (const kept of ['recent', 'full', 'old']) expect(await find(kept)).toMatchObject({ state: 'active' });
    await store.files.remove(file);
    expect(ids((await clean(settings, 1002)).workspaces)).toEqual(['full', 'recent']);
  });

  test('takes as many turns as it needs', async () => {
    for (let i = 0; i < 450; i++) await store.open(sessionRecord({ sessionId: `many-${i}`, lastActiveAt: 0 }));
    expect((await clean(SETTINGS, 1000)).expired).toHaveLength(452);
    expect((await clean(SETTINGS, 1500)).purged).toHaveLength(452);
  });
});

describe('the upstream sessions of those that have expired', () => {
  const expired = Array.from({ length: 120 }, (_, i) => sessionRecord({ sessionId: String(i) }));
  const never = (): AbortSignal => new AbortController().signal;

  test('are all ended, whatever becomes of some of them', async () => {
    const ended: string[] = [];
    const end = async ({ sessionId }: { sessionId: string }): Promise<void> => {
      ended.push(sessionId);
      if (ended.length % 2 === 0) throw new Error('refused');
    };
    await endExpired(expired, end, never());
    expect(ended).toEqual(expired.map(({ sessionId }) => sessionId));
  });

  test('are ended some at a time, and no more of them once the adapter stops', async () => {
    const stop = new AbortController();
    let running = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const ending = endExpired(
      expired,
      () => {
        running++;
        return promise;
      },
      stop.signal,
    );
    expect(running).toBe(50);
    stop.abort();
    resolve();
    await ending;
    expect(running).toBe(50);
  });
});

describe('the cleanup loop', () => {
  beforeEach(() => vi.useFakeTimers({ fakeNodeBuiltins: true }));
  afterEach(() => vi.useRealTimers());

  test('runs a pass every interval, never two at a time', async () => {
    let running = 0;
    let passes = 0;
    const loop = new SweepLoop(
      async () => {
        expect(++running).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, 700));
        running--;
        passes++;
      },
      1000,
      () => expect.unreachable(),
    );
    await vi.advanceTimersByTimeAsync(999);
    expect(running).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(running).toBe(1);
    await vi.advanceTimersByTimeAsync(1700 * 4);
    expect(passes).toBe(4);
    const stopping = loop.stop();
    await vi.advanceTimersByTimeAsync(700);
    await stopping;
  });

  test('goes on after failures, with growing pauses, and in its usual rhythm after that', async () => {
    const started = Date.now();
    const at: number[] = [];
    const failures: unknown[] = [];
    const loop = new SweepLoop(
      async () => {
        at.push((Date.now() - started) / 1000);
        if (at.length < 7) throw new Error(`failure ${at.length}`);
      },
      60_000,
      (error) => failures.push(error),
    );
    await vi.advanceTimersByTimeAsync(60_000 + 2000 + 4000 + 8000 + 16_000 + 30_000 + 30_000 + 60_000);
    expect(at).toEqual([60, 62, 66, 74, 90, 120, 150, 210]);
    expect(failures).toHaveLength(6);
    await loop.stop();
  });

  test('pauses no longer after a failure than it does otherwise', async () => {
    let passes = 0;
    const loop = new SweepLoop(
      async () => {
        passes++;
        throw new Error('x');
      },
      500,
      () => undefined,
    );
    await vi.advanceTimersByTimeAsync(5000);
    expect(passes).toBe(10);
    await loop.stop();
  });

  test('waits, when it is stopped, for the pass that runs, and begins no other', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let passes = 0;
    let told = false;
    const loop = new SweepLoop(
      (signal) => {
        passes++;
        expect(signal.aborted).toBe(false);
        signal.addEventListener('abort', () => (told = true));
        return promise;
      },
      10,
      () => expect.unreachable(),
    );
    await vi.advanceTimersByTimeAsync(10);
    let stopped = false;
    const stopping = loop.stop().then(() => (stopped = true));
    await vi.advanceTimersByTimeAsync(1000);
    expect([stopped, told, passes]).toEqual([false, true, 1]);
    resolve();
    await stopping;
    await vi.advanceTimersByTimeAsync(1000);
    expect(passes).toBe(1);
  });

  test('is stopped in the middle of a pause at once', async () => {
    const loop = new SweepLoop(
      async () => expect.unreachable(),
      1e6,
      () => undefined,
    );
    await loop.stop();
    expect(vi.getTimerCount()).toBe(0);
  });
});
