import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { MemoryStore } from '../state/memory/memory-store.ts';
import { StoreUnavailable } from '../state/state-store.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { INITIALIZE_TIMEOUT_MS, newSessionId, type SessionLimits, SessionRegistry } from './session-registry.ts';
import { workspaceRecord } from './workspace-record.ts';
import { sessionRecord } from './testing/session-record.ts';

const NOW = 1_700_000_000_000;
const record = sessionRecord({ principal: 'me', createdAt: NOW, lastActiveAt: NOW });
const { serverId, sessionId } = record;
const other = newSessionId();

test('T1: session ids are 128 random bits', () => {
  const ids = Array.from({ length: 1000 }, newSessionId);
  expect(new Set(ids).size).toBe(1000);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

describe('the sessions', () => {
  let store: MemoryStore;
  let registry: SessionRegistry;

  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
    store = new MemoryStore();
    registry = create();
  });
  afterEach(() => {
    registry.stop();
    vi.useRealTimers();
  });

  const create = (limits: Partial<SessionLimits> = {}): SessionRegistry =>
    new SessionRegistry(store, { maxActive: null, maxInFlight: null, idleTtlMs: null, ...limits });
  const tombstone = (): Promise<unknown> =>
    store.expireIdle({ now: NOW, idleBefore: NOW + 1, tombstoneUntil: NOW + 60_000, limit: 10 });

  test('are told of when they are opened, and when they come back', async () => {
    const telemetry = new RecordingTelemetry();
    registry.stop();
    registry = new SessionRegistry(store, { maxActive: null, maxInFlight: null, idleTtlMs: null }, telemetry);
    await registry.open(record);
    await registry.open({ ...record, sessionId: other, principal: '' });
    await registry.find(serverId, sessionId, 'me');
    await tombstone();
    await registry.find(serverId, sessionId, 'me');
    await registry.find(serverId, sessionId, 'me');
    await expect(registry.find(serverId, sessionId, 'you')).rejects.toThrow();
    expect(telemetry.of('session')).toEqual([
      { serverId, event: 'created' },
      { serverId, event: 'auth_context_bound' },
      { serverId, event: 'created' },
      { serverId, event: 'revived' },
    ]);
  });

  describe('are found', () => {
    test('by who opened them', async () => {
      await registry.open(record);
      expect(await registry.find(serverId, sessionId, 'me')).toEqual(record);
    });

    test.each<[string, string, string, string]>([
      ['an unknown id', serverId, other, 'me'],
      ['another server', 's2', sessionId, 'me'],
      ['another caller', serverId, sessionId, 'you'],
      ['no caller', serverId, sessionId, ''],
      ['something that is no id', serverId, '../../etc/passwd', 'me'],
      ['an id in capitals', serverId, sessionId.toUpperCase(), 'me'],
      ['more than an id', serverId, `${sessionId}0`, 'me'],
      ['an id and a line', serverId, `${sessionId}\n`, 'me'],
      ['nothing', serverId, '', 'me'],
    ])('and the answer is the same for %s', async (_name, server, id, principal) => {
      await registry.open(record);
      const failure = { code: 'session_not_found', status: 404 };
      await expect(registry.find(server, id, principal)).rejects.toMatchObject(failure);
      await expect(registry.enter(server, id, principal)).rejects.toMatchObject(failure);
      expect(await registry.remove(server, id, principal)).toBeUndefined();
      expect(registry.inFlight).toBe(0);
      expect(await registry.find(serverId, sessionId, 'me')).toEqual(record);
    });

    test('without asking the store for what is no id', async () => {
      const asked = [vi.spyOn(store, 'find'), vi.spyOn(store, 'enter')];
      for (const id of ['', 'x', `${sessionId}0`, `${sessionId}\n`, `x${sessionId}`, '\0'.repeat(32)]) {
        await expect(registry.find(serverId, id, 'me')).rejects.toMatchObject({ code: 'session_not_found' });
        await expect(registry.enter(serverId, id, 'me')).rejects.toMatchObject({ code: 'session_not_found' });
        expect(await registry.remove(serverId, id, 'me')).toBeUndefined();
      }
      for (const spy of asked) expect(spy).not.toHaveBeenCalled();
    });

    test('as tombstones, which live again', async () => {
      await registry.open(record);
      await tombstone();
      expect(await registry.find(serverId, sessionId, 'me')).toMatchObject({ sessionId, upstreamSessionId: '' });
      expect(await store.counts(NOW)).toMatchObject({ sessions: 1, tombstones: 0 });
    });

    test('as tombstones of somebody else never', async () => {
      await registry.open(record);
      await tombstone();
      await expect(registry.find(serverId, sessionId, 'you')).rejects.toMatchObject({ code: 'session_not_found' });
      expect(await store.counts(NOW)).toMatchObject({ sessions: 0, tombstones: 1 });
    });

    test('as invalidated ones with the reason, by who opened them', async () => {
      await registry.open(record);
      await store.invalidate(record, 'tool definitions have changed', NOW + 60_000);
      await expect(registry.find(serverId, sessionId, 'me')).rejects.toMatchObject({
        code: 'session_invalidated',
        status: 404,
        message: 'The session was invalidated (tool definitions have changed); initialize again.',
      });
      await expect(registry.find(serverId, sessionId, 'you')).rejects.toMatchObject({ code: 'session_not_found' });
    });
  });

  describe('are kept by uploads', () => {
    const lastActiveAt = async (): Promise<number> => (await registry.find(serverId, sessionId, 'me')).lastActiveAt;

    test('whose time counts as activity, and which are no calls in flight', async () => {
      registry.stop();
      registry = create({ idleTtlMs: 1000, maxInFlight: 1 });
      await registry.open(record);
      await registry.enter(serverId, sessionId, 'me');
      vi.advanceTimersByTime(500);
      expect(await registry.touch(serverId, sessionId, 'me')).toMatchObject({ lastActiveAt: NOW + 500 });
      expect(await lastActiveAt()).toBe(NOW + 500);
      expect(await store.counts(NOW)).toMatchObject({ inFlight: 1 });
    });

    test('to the minute where nothing depends on it', async () => {
      await registry.open(record);
      const touched = vi.spyOn(store, 'touch');
      vi.advanceTimersByTime(59_000);
      await registry.touch(serverId, sessionId, 'me');
      expect(touched).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1_000);
      await registry.touch(serverId, sessionId, 'me');
      expect(await lastActiveAt()).toBe(NOW + 60_000);
    });

    test('and come back as tombstones, for who opened them', async () => {
      registry.stop();
      registry = create({ idleTtlMs: 1000 });
      await registry.open(record);
      await tombstone();
      const refused = { code: 'session_not_found', status: 404 };
      await expect(registry.touch(serverId, sessionId, 'you')).rejects.toMatchObject(refused);
      await expect(registry.touch(serverId, '../..', 'me')).rejects.toMatchObject(refused);
      expect(await registry.touch(serverId, sessionId, 'me')).toMatchObject({ sessionId });
      expect(await store.counts(NOW)).toMatchObject({ sessions: 1, tombstones: 0 });
      vi.spyOn(store, 'touch').mockResolvedValue({ state: 'unknown' });
      await expect(registry.touch(serverId, sessionId, 'me')).rejects.toMatchObject(refused);
    });
  });

  describe('are limited', () => {
    beforeEach(() => {
      registry.stop();
      registry = create({ maxActive: 2 });
    });

    test('to so many at a time, from their reservation on', async () => {
      await registry.open(record);
      await registry.reserve({ serverId, sessionId: other });
      const third = { serverId, sessionId: newSessionId() };
      await expect(registry.reserve(third)).rejects.toMatchObject({
        code: 'sessions_limit',
        status: 429,
        retryAfter: 10,
        message: expect.stringContaining('maximum of 2 active sessions'),
      });
      await registry.release({ serverId, sessionId: other });
      await registry.reserve(third);
    });

    test('and a place is held for as long as opening may take, then it is free again if that led to nothing', async () => {
      await registry.reserve({ serverId, sessionId: other });
      await registry.reserve({ serverId, sessionId: newSessionId() });
      vi.setSystemTime(NOW + INITIALIZE_TIMEOUT_MS + 10_000);
      await expect(registry.reserve(record)).rejects.toMatchObject({ code: 'sessions_limit' });
      vi.setSystemTime(NOW + INITIALIZE_TIMEOUT_MS + 60_000);
      await registry.reserve(record);
    });

    test('and a tombstone needs a place to live again', async () => {
      await registry.open(record);
      await tombstone();
      await registry.open(sessionRecord({ sessionId: other }));
      await registry.open(sessionRecord({ sessionId: newSessionId() }));
      await expect(registry.find(serverId, sessionId, 'me')).rejects.toMatchObject({
        code: 'sessions_limit',
        status: 429,
      });
      await expect(registry.enter(serverId, sessionId, 'me')).rejects.toMatchObject({ code: 'sessions_limit' });
      await store.remove({ serverId, sessionId: other });
      expect((await registry.enter(serverId, sessionId, 'me')).record).toMatchObject({ sessionId });
    });
  });

  test('need no place where there is no limit', async () => {
    const reserve = vi.spyOn(store, 'reserve');
    const release = vi.spyOn(store, 'release');
    await registry.reserve(record);
    await registry.release(record);
    expect([reserve.mock.calls, release.mock.calls]).toEqual([[], []]);
  });

  describe('count their calls', () => {
    beforeEach(async () => {
      registry.stop();
      registry = create({ maxInFlight: 2 });
      await registry.open(record);
    });
    const enter = () => registry.enter(serverId, sessionId, 'me');

    test('up to the limit, and again when one has ended', async () => {
      const { lease } = await enter();
      await enter();
      await expect(enter()).rejects.toMatchObject({ code: 'in_flight_limit', status: 429, retryAfter: 1 });
      expect([registry.inFlight, await store.counts(NOW)]).toMatchObject([2, { inFlight: 2 }]);
      if (lease === undefined) throw new Error('no lease');
      const left = registry.leave(lease);
      // The next call of the client must find the place free.
      expect(left).toBeInstanceOf(Promise);
      await left;
      expect(registry.leave(lease)).toBeUndefined();
      await enter();
      expect(registry.inFlight).toBe(2);
    });

    test('for as long as they run, however long that is, and no longer than 30 s when the replica dies', async () => {
      await enter();
      await enter();
      await vi.advanceTimersByTimeAsync(300_000);
      await expect(enter()).rejects.toMatchObject({ code: 'in_flight_limit' });
      registry.stop();
      await vi.advanceTimersByTimeAsync(30_001);
      expect((await enter()).lease).toBeDefined();
    });

    test('of tombstones too, which live again by them', async () => {
      await tombstone();
      expect(await enter()).toMatchObject({
        record: { sessionId, upstreamSessionId: '' },
        lease: { key: { sessionId } },
      });
      expect(await store.counts(NOW)).toMatchObject({ sessions: 1, inFlight: 1 });
    });

    test('and note when the last one began', async () => {
      vi.setSystemTime(NOW + 5000);
      expect((await enter()).record.lastActiveAt).toBe(NOW + 5000);
    });

    test('and let no answer wait for a store that is down', async () => {
      const { lease } = await enter();
      vi.spyOn(store, 'leave').mockRejectedValue(new StoreUnavailable('down'));
      vi.spyOn(store, 'renew').mockRejectedValue(new StoreUnavailable('down'));
      await vi.advanceTimersByTimeAsync(20_000);
      if (lease === undefined) throw new Error('no lease');
      await registry.leave(lease);
      expect(registry.inFlight).toBe(0);
    });

    test('and pass on that the store is down when a call begins', async () => {
      vi.spyOn(store, 'enter').mockRejectedValue(new StoreUnavailable('down'));
      await expect(enter()).rejects.toThrow(StoreUnavailable);
      expect(registry.inFlight).toBe(0);
    });
  });

  test('count their calls where they expire by idling, without making anybody wait for the end of one', async () => {
    registry.stop();
    registry = create({ idleTtlMs: 1000 });
    await registry.open(record);
    const { lease } = await registry.enter(serverId, sessionId, 'me');
    expect(await store.counts(NOW)).toMatchObject({ inFlight: 1 });
    if (lease === undefined) throw new Error('no lease');
    expect(registry.leave(lease)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(0);
    expect(await store.counts(NOW)).toMatchObject({ inFlight: 0 });
  });

  test('count no calls where nothing depends on it, and note activity once a minute', async () => {
    const enters = vi.spyOn(store, 'enter');
    await registry.open(record);
    for (const [seconds, counted, calls] of [
      [59, false, 0],
      [60, true, 1],
      [119, false, 1],
      [120, true, 2],
    ] as const) {
      vi.setSystemTime(NOW + seconds * 1000);
      const { lease } = await registry.enter(serverId, sessionId, 'me');
      expect([seconds, lease !== undefined, enters.mock.calls.length]).toEqual([seconds, counted, calls]);
      if (lease !== undefined) await registry.leave(lease);
    }
    expect((await registry.find(serverId, sessionId, 'me')).lastActiveAt).toBe(NOW + 120_000);
  });

  test('of callers without sessions last as long as a call in them, though nothing else depends on it', async () => {
    await registry.open(workspaceRecord(serverId, sessionId, 'me', NOW));
    const { lease } = await registry.enter(serverId, sessionId, 'me');
    await vi.advanceTimersByTimeAsync(3_600_000);
    const expired = (): Promise<unknown[]> =>
      store.expireWorkspaces({ now: Date.now(), idleBefore: Date.now() - 600_000, limit: 10 });
    expect(await expired()).toEqual([]);
    if (lease !== undefined) await registry.leave(lease);
    await vi.advanceTimersByTimeAsync(600_001);
    expect(await expired()).toHaveLength(1);
  });

  test('end when they are removed, tombstones too', async () => {
    await registry.open(record);
    expect(await registry.remove(serverId, sessionId, 'me')).toEqual(record);
    expect(await registry.remove(serverId, sessionId, 'me')).toBeUndefined();
    await registry.open(record);
    await tombstone();
    expect(await registry.remove(serverId, sessionId, 'me')).toMatchObject({ sessionId });
    await expect(registry.find(serverId, sessionId, 'me')).rejects.toMatchObject({ code: 'session_not_found' });
  });

  test('T1: are not ended by who may not use them any more', async () => {
    await registry.open(record);
    await store.invalidate(record, 'drift', NOW + 60_000);
    expect(await registry.remove(serverId, sessionId, 'me')).toBeUndefined();
    await expect(registry.find(serverId, sessionId, 'me')).rejects.toMatchObject({ code: 'session_invalidated' });
  });
});
