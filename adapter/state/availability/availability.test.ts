import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { availableStore } from './availability.ts';
import type { AvailableStore } from './availability.ts';
import type { UnavailablePolicy } from './store-health.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { StoreUnavailable } from '../state-store.ts';
import type { Refused } from '../call-limits.ts';
import type { Caller, EnteringCall, Found, SessionKey, SessionRecord } from '../state-store.ts';
import { addFile, beginFile, T } from '../testing/files.ts';
import { sampleSession as newRecord } from '../testing/sample-session.ts';

const PING_MS = 5_000;

const caller = { principal: '', now: 2_000 };

/** A store whose technology fails when the test says so. */
class FailingStore extends MemoryStore {
  failure: Error | undefined;
  pings = 0;
  enters = 0;
  /** Only operations fail, pings do not. */
  pingsAnyway = false;

  override async ping(): Promise<void> {
    this.pings += 1;
    if (this.failure !== undefined && !this.pingsAnyway) throw this.failure;
  }

  override async enter(
    key: SessionKey,
    asking: Caller,
    call: EnteringCall,
  ): Promise<Found | { state: 'limit' } | Refused> {
    this.enters += 1;
    if (this.failure !== undefined) throw this.failure;
    return super.enter(key, asking, call);
  }

  override async open(record: SessionRecord): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    return super.open(record);
  }
}

describe('AvailableStore', () => {
  let primary: FailingStore;
  let store: AvailableStore;
  let logged: string[];
  let exits: string[];
  let transitions: string[];
  let prepared: number;

  beforeEach(() => {
    vi.useFakeTimers();
    primary = new FailingStore();
    logged = [];
    exits = [];
    transitions = [];
    prepared = 0;
  });
  afterEach(async () => {
    const closing = store.close();
    await vi.runAllTimersAsync();
    await closing;
    vi.useRealTimers();
  });

  const create = (policy: UnavailablePolicy, waitMs = 0): AvailableStore => {
    store = availableStore(primary, {
      policy,
      waitMs,
      onFallback: () => logged.push('fallback'),
      configuredType: 'redis',
      pingMs: PING_MS,
      prepare: async () => {
        prepared += 1;
      },
      exit: (reason) => exits.push(reason),
      onTransition: ({ action, source }) => transitions.push(`${action} ${source}`),
      log: (message) => logged.push(message),
    });
    return store;
  };

  const enter = (sessionId = 'one') =>
    store.enter(newRecord(sessionId), caller, { id: 'call', until: 9_000, maxInFlight: null });

  /** An operation that fails, with the time that its confirmation takes. */
  const failingEnter = async (): Promise<void> => {
    const failed = expect(enter()).rejects.toThrow(StoreUnavailable);
    await vi.advanceTimersByTimeAsync(1);
    await failed;
  };

  const down = new StoreUnavailable('connection refused');

  test('while the store works, nothing is degraded', async () => {
    await create('fail_closed').start();
    await store.open(newRecord('one'));
    expect((await enter()).state).toBe('active');
    await vi.advanceTimersByTimeAsync(PING_MS);
    expect(primary.pings).toBe(2);
    expect(store.status()).toMatchObject({
      status: 'ok',
      effectiveType: 'redis',
      unavailable: false,
      fallbackActive: false,
      degradedReason: null,
      lastError: null,
      lastTransitionAt: null,
      ping: { lastError: null, lastFailureAt: null },
    });
    expect(store.status().ping.lastSuccessAt).not.toBeNull();
    expect(logged).toEqual([]);
    expect(prepared).toBe(1);
  });

  test.each<UnavailablePolicy>(['fail_closed', 'exit', 'fallback_memory'])(
    'a fault of another kind changes nothing under %s',
    async (policy) => {
      await create(policy).start();
      primary.failure = new TypeError('bad session id');
      await expect(enter()).rejects.toThrow(TypeError);
      await vi.advanceTimersByTimeAsync(3 * PING_MS);
      expect(store.status()).toMatchObject({ status: 'ok', lastTransitionAt: null });
      expect(exits).toEqual([]);
    },
  );

  test.each<UnavailablePolicy>(['fail_closed', 'exit', 'fallback_memory'])(
    'one operation that fails while pings succeed is no outage under %s',
    async (policy) => {
      await create(policy).start();
      primary.failure = down;
      primary.pingsAnyway = true;
      const failed = expect(enter()).rejects.toThrow(StoreUnavailable);
      await vi.advanceTimersByTimeAsync(2 * PING_MS);
      await failed;
      expect(store.status()).toMatchObject({ status: 'ok', lastError: 'connection refused' });
      expect(exits).toEqual([]);
    },
  );

  test.each([
    ['fail_closed', 'continue_fail_closed', 'activate_fail_closed'],
    ['fallback_memory', 'switch_to_fallback', 'switch_to_fallback'],
    ['exit', 'exit', 'exit'],
  ] as const)('%s is told when it takes effect, and when it ends', async (policy, atStart, later) => {
    primary.failure = down;
    await create(policy).start();
    primary.failure = undefined;
    await vi.advanceTimersByTimeAsync(PING_MS);
    primary.failure = down;
    await vi.advanceTimersByTimeAsync(3 * PING_MS);
    expect(transitions).toEqual([
      `${atStart} startup:startup_probe`,
      'recover runtime:redis_persistence_health',
      `${later} runtime:redis_persistence_health`,
    ]);
  });

  describe('fail_closed', () => {
    test('operations fail at once, one tries each second, and a try that succeeds ends it', async () => {
      await create('fail_closed').start();
      await store.open(newRecord('one'));
      primary.failure = down;
      await failingEnter();
      expect(store.status()).toMatchObject({
        status: 'degraded',
        unavailable: true,
        fallbackActive: false,
        effectiveType: 'redis',
        degradedReason: 'persistence_unavailable_via_state_store',
        lastError: 'connection refused',
      });

      primary.enters = 0;
      for (let index = 0; index < 10; index += 1) await expect(enter()).rejects.toThrow(StoreUnavailable);
      expect(primary.enters).toBe(1);
      await vi.advanceTimersByTimeAsync(1_000);
      for (let index = 0; index < 10; index += 1) await expect(enter()).rejects.toThrow('connection refused');
      expect(primary.enters).toBe(2);

      primary.failure = undefined;
      await expect(enter()).rejects.toThrow(StoreUnavailable);
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await enter()).state).toBe('active');
      expect(store.status()).toMatchObject({ status: 'ok', unavailable: false, degradedReason: null });
      expect(logged).toEqual([
        'persistence_unavailable_via_state_store: connection refused',
        'the redis state store is available again',
      ]);
    });

    test('files, nonces and secrets are refused too', async () => {
      await create('fail_closed').start();
      primary.failure = down;
      await failingEnter();
      const refused = [
        () => store.files.totals(),
        () => store.files.begin([], { now: T, maxArtifacts: null }),
        () => store.files.page(undefined, 9),
        () => store.nonces.find('nonce', T),
        () => store.secret('signing'),
      ];
      await expect(enter()).rejects.toThrow(StoreUnavailable);
      for (const ask of refused) await expect(ask()).rejects.toThrow(StoreUnavailable);
    });

    test('pings alone find the outage and its end', async () => {
      await create('fail_closed').start();
      primary.failure = down;
      await vi.advanceTimersByTimeAsync(PING_MS + 1);
      expect(store.status()).toMatchObject({
        unavailable: true,
        degradedReason: 'persistence_unavailable_via_redis_persistence_health',
        ping: { lastError: 'connection refused' },
      });
      primary.failure = undefined;
      await vi.advanceTimersByTimeAsync(PING_MS);
      expect(store.status()).toMatchObject({ status: 'ok', ping: { lastError: null } });
    });

    test('a store that is down at the start: nothing is served before it was prepared', async () => {
      primary.failure = down;
      await create('fail_closed').start();
      expect(store.status()).toMatchObject({
        unavailable: true,
        degradedReason: 'persistence_unavailable_during_startup',
      });
      primary.failure = undefined;
      await expect(enter()).rejects.toThrow(StoreUnavailable);
      expect(primary.enters).toBe(0);
      expect(prepared).toBe(0);
      await vi.advanceTimersByTimeAsync(PING_MS);
      expect(prepared).toBe(1);
      expect((await enter()).state).toBe('unknown');
      expect(store.status().status).toBe('ok');
    });
  });

  describe('O18: with a time to wait', () => {
    test('operations of an outage go on when it ends', async () => {
      await create('fail_closed', 3_000).start();
      await store.open(newRecord('one'));
      primary.failure = down;
      await failingEnter();
      // The one that may try fails by itself; what health asks does not wait.
      await expect(enter()).rejects.toThrow(StoreUnavailable);
      await expect(store.counts(T)).rejects.toThrow(StoreUnavailable);
      const waiting = [enter(), enter()];
      await vi.advanceTimersByTimeAsync(500);
      primary.failure = undefined;
      await store.recheck();
      expect((await Promise.all(waiting)).map(({ state }) => state)).toEqual(['active', 'active']);
    });

    test('what is to be done at the first contact is done once, however many make it', async () => {
      primary.failure = down;
      await create('fail_closed', 3_000).start();
      primary.failure = undefined;
      await Promise.all([store.recheck(), store.recheck(), vi.advanceTimersByTimeAsync(PING_MS)]);
      expect([prepared, store.status().status]).toEqual([1, 'ok']);
    });

    test('they are refused when the time is over, and at once when waits have ended', async () => {
      await create('fail_closed', 3_000).start();
      primary.failure = down;
      await failingEnter();
      await expect(enter()).rejects.toThrow(StoreUnavailable);
      const refused = expect(enter()).rejects.toThrow('connection refused');
      await vi.advanceTimersByTimeAsync(3_000);
      await refused;
      await expect(enter()).rejects.toThrow(StoreUnavailable);
      const waiting = enter();
      store.endWaits();
      await expect(waiting).rejects.toThrow(StoreUnavailable);
      await expect(enter()).rejects.toThrow(StoreUnavailable);
    });

    test.each(['exit', 'fallback_memory'] as const)('what %s does comes after it', async (policy) => {
      await create(policy, 2 * PING_MS).start();
      primary.failure = down;
      // Found by a ping.
      await vi.advanceTimersByTimeAsync(PING_MS + 2 * PING_MS - 10);
      expect([exits, transitions]).toEqual([[], []]);
      await vi.advanceTimersByTimeAsync(20);
      expect(transitions).toHaveLength(1);
      // What waits for Redis is told to go on in memory.
      expect(logged.includes('fallback')).toBe(policy === 'fallback_memory');
    });
  });

  describe('exit', () => {
    test('a failure that lasts a ping interval ends the process, once', async () => {
      await create('exit').start();
      primary.failure = down;
      await failingEnter();
      await vi.advanceTimersByTimeAsync(PING_MS - 10);
      expect(exits).toEqual([]);
      await vi.advanceTimersByTimeAsync(3 * PING_MS);
      expect(exits).toEqual(['persistence_unavailable_exit_via_state_store: connection refused']);
      expect(store.status()).toMatchObject({ exitRequested: true, unavailable: true });
    });

    test('a shorter one does not', async () => {
      await create('exit').start();
      primary.failure = down;
      await failingEnter();
      primary.failure = undefined;
      await vi.advanceTimersByTimeAsync(3 * PING_MS);
      expect(exits).toEqual([]);
      expect(store.status().status).toBe('ok');
    });

    test('a store that is down at the start ends it at once', async () => {
      primary.failure = down;
      await create('exit').start();
      expect(exits).toEqual(['persistence_unavailable_exit_during_startup: connection refused']);
    });
  });

  describe('fallback_memory', () => {
    test('the operation that found the outage goes on in memory, with what was last seen', async () => {
      await create('fallback_memory').start();
      await store.open(newRecord('one'));
      await store.setSubscription(newRecord('one'), 'file:///a', true);
      await store.setLogLevel(newRecord('one'), '{"level":"info"}');
      await store.dropLists(newRecord('one'));
      await store.replaceUpstream(newRecord('one'), 0, { upstreamSessionId: 'second', protocolVersion: '2025-03-26' });
      await store.open(newRecord('removed'));
      await store.remove(newRecord('removed'));
      await store.open(newRecord('drifted'));
      await store.invalidate(newRecord('drifted'), 'drift', 9_000);
      primary.failure = down;

      const entering = enter();
      await vi.advanceTimersByTimeAsync(300);
      const record = {
        ...newRecord('one'),
        subscriptions: ['file:///a'],
        logLevel: '{"level":"info"}',
        listsGeneration: 1,
        generation: 1,
        upstreamSessionId: 'second',
        protocolVersion: '2025-03-26',
        lastActiveAt: 2_000,
      };
      expect(await entering).toEqual({ state: 'active', record });
      expect(await store.find(newRecord('removed'), caller)).toEqual({ state: 'unknown' });
      expect((await store.find(newRecord('drifted'), caller)).state).toBe('invalidated');
      expect(store.status()).toMatchObject({
        status: 'degraded',
        unavailable: false,
        fallbackActive: true,
        configuredType: 'redis',
        effectiveType: 'memory',
        degradedReason: 'fallback_memory_activated_by_state_store',
      });
    });

    test('what other replicas have ended does not come back', async () => {
      await create('fallback_memory').start();
      const [ended, drifted, told] = ['ended', 'drifted', 'told'].map((id) => newRecord(id));
      if (!ended || !drifted || !told) throw new Error('three sessions');
      for (const session of [ended, drifted, told]) await store.open(session);
      await primary.remove(ended);
      await primary.invalidate(drifted, 'drift', 9_000);
      await primary.remove(told);
      await store.find(ended, caller);
      await store.find(drifted, caller);
      store.forget(told);
      primary.failure = down;
      const entering = enter();
      await vi.advanceTimersByTimeAsync(300);
      await entering;
      const states = [ended, drifted, told].map(async (session) => (await store.find(session, caller)).state);
      expect(await Promise.all(states)).toEqual(['unknown', 'invalidated', 'unknown']);
      store.forget(drifted); // in the outage nobody else can know
      expect((await store.find(drifted, caller)).state).toBe('invalidated');
    });

    test('a session that was pinned stays so, also if another replica did it', async () => {
      await create('fallback_memory').start();
      const [mine, read, others, unpinned] = ['mine', 'read', 'others', 'unpinned'].map((id) => newRecord(id));
      if (!mine || !read || !others || !unpinned) throw new Error('four sessions');
      const [first, second] = [
        { fingerprint: '1', text: 'first' },
        { fingerprint: '2', text: 'second' },
      ];
      for (const session of [mine, read, others, unpinned]) await store.open(session);
      await store.pin(mine, first);
      await primary.pin(read, second);
      await primary.pin(others, { fingerprint: '3', text: 'third' });
      await store.baseline(read);
      for (const session of [mine, read, others]) await store.find(session, caller);
      primary.failure = down;
      await vi.advanceTimersByTimeAsync(PING_MS + 300);
      expect(store.status().fallbackActive).toBe(true);

      expect(await store.find(mine, caller)).toMatchObject({ record: { baseline: '1' } });
      expect(await store.pin(mine, second)).toEqual(first);
      expect(await store.baseline(read)).toEqual(second);
      expect(await store.find(others, caller)).toMatchObject({ record: { baseline: '3' } });
      expect(await store.pin(others, first)).toEqual({ fingerprint: '3', text: '' });
      expect(await store.pin(unpinned, second)).toEqual(second);

      primary.failure = undefined;
      await vi.advanceTimersByTimeAsync(PING_MS);
      expect(await store.baseline(others)).toEqual({ fingerprint: '3', text: 'third' });
      expect(await store.baseline(unpinned)).toBeUndefined();
    });

    test('files that this replica saw can be used on, with the same secret', async () => {
      await create('fallback_memory').start();
      const session = newRecord('one');
      await store.open(session);
      const keep = { now: T, ttlMs: null };
      const [made, used, evicted, removed, pending] = [
        await addFile(store, session, { sizeBytes: 10 }),
        // Made by another replica: known here since it was used.
        await addFile(primary, session, { kind: 'artifact', sizeBytes: 20 }),
        await addFile(store, session, { lastUsedAt: 1, sizeBytes: 5 }),
        await addFile(store, session),
        await beginFile(store, session),
      ];
      const unseen = await addFile(primary, session);
      await store.files.use(used, keep);
      await store.files.reserve(pending, {
        bytes: 5,
        maxSession: 35,
        maxTotal: null,
        leaseUntil: T,
        now: T,
        evictFirst: 'upload',
      });
      await store.files.remove(removed);
      const secret = await store.secret('signing');
      primary.failure = down;
      await vi.advanceTimersByTimeAsync(PING_MS + 300);
      expect(store.status().fallbackActive).toBe(true);

      expect(await store.files.find(made, keep)).toEqual(made);
      expect(await store.files.list(session, 'artifact', keep)).toEqual([used]);
      const asked = [made, used, evicted, removed, pending, unseen].map(({ fileId }) => fileId);
      expect(await store.files.known('one', asked)).toEqual(new Set([made.fileId, used.fileId]));
      expect(await store.files.totals()).toEqual({
        uploads: { count: 1, bytes: 10 },
        artifacts: { count: 1, bytes: 20 },
      });
      expect(await store.files.commit([pending], { now: T })).toBe(false);
      expect(await addFile(store, session)).toMatchObject({ state: 'committed' });
      expect(await store.secret('signing')).toBe(secret);

      primary.failure = undefined;
      await vi.advanceTimersByTimeAsync(PING_MS);
      expect(await store.files.list(session, 'artifact', keep)).toEqual([used]);
      expect(await store.files.find(unseen, keep)).toEqual(unseen);
    });

    test('an interruption of a moment is bridged without it', async () => {
      await create('fallback_memory').start();
      await store.open(newRecord('one'));
      primary.failure = down;
      const failed = expect(enter()).rejects.toThrow(StoreUnavailable);
      await vi.advanceTimersByTimeAsync(100);
      primary.failure = undefined;
      await vi.advanceTimersByTimeAsync(200);
      await failed;
      expect(store.status()).toMatchObject({ status: 'ok', fallbackActive: false });
    });

    test('when the store is back, what was done in memory is dropped', async () => {
      await create('fallback_memory').start();
      await store.open(newRecord('one'));
      primary.failure = down;
      await vi.advanceTimersByTimeAsync(PING_MS + 300);
      await store.open(newRecord('in memory'));
      await store.remove(newRecord('one'));
      primary.failure = undefined;
      await vi.advanceTimersByTimeAsync(PING_MS);
      expect(store.status()).toMatchObject({ status: 'ok', fallbackActive: false, effectiveType: 'redis' });
      expect(await store.find(newRecord('in memory'), caller)).toEqual({ state: 'unknown' });
      expect((await store.find(newRecord('one'), caller)).state).toBe('active');

      primary.failure = down;
      await vi.advanceTimersByTimeAsync(PING_MS + 300);
      expect(store.status().fallbackActive).toBe(true);
      expect((await store.find(newRecord('one'), caller)).state).toBe('active');
      expect(await store.find(newRecord('in memory'), caller)).toEqual({ state: 'unknown' });
    });

    test('at the start it goes on empty', async () => {
      primary.failure = down;
      await create('fallback_memory').start();
      expect(store.status()).toMatchObject({
        fallbackActive: true,
        unavailable: false,
        degradedReason: 'fallback_memory_activated_during_startup',
      });
      await store.open(newRecord('one'));
      expect((await enter()).state).toBe('active');
    });
  });

  test('after closing no ping is sent', async () => {
    await create('fail_closed').start();
    await store.close();
    const { pings } = primary;
    await vi.advanceTimersByTimeAsync(10 * PING_MS);
    expect(primary.pings).toBe(pings);
  });
});
