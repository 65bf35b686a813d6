import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SessionKey, SessionRecord, StateStore } from './state-store.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';

// Redis expires keys by its own clock, so the tests' times stay near the real ones.
const T = Math.floor(Date.now() / 1000) * 1000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const alice = (now = T) => ({ principal: 'alice', now });
const mallory = (now = T) => ({ principal: 'mallory', now });
const lease = (until = T + 30_000, maxInFlight: number | null = null) => ({ id: randomUUID(), until, maxInFlight });

const newKey = (): SessionKey => ({ serverId: 'files', sessionId: randomUUID() });

const newRecord = (changes: Partial<SessionRecord> = {}): SessionRecord => ({
  ...newKey(),
  principal: 'alice',
  upstreamSessionId: 'upstream-1',
  generation: 0,
  protocolVersion: '2025-06-18',
  initializeParams: '{"clientInfo":{"name":"größe 🐘"}}',
  logLevel: null,
  subscriptions: [],
  listsGeneration: 0,
  baseline: null,
  createdAt: T - MINUTE,
  lastActiveAt: T - MINUTE,
  ...changes,
});

const reserve = (store: StateStore, key: SessionKey, maxActive: number, now = T) =>
  store.reserve(key, { maxActive, now, expiresAt: now + MINUTE });

const expire = (store: StateStore, changes: Partial<Parameters<StateStore['expireIdle']>[0]> = {}) =>
  store.expireIdle({ now: T, idleBefore: T - 10_000, tombstoneUntil: T + DAY, limit: 100, ...changes });

const states = (results: readonly { state: string }[], state: string): number =>
  results.filter((result) => result.state === state).length;

for (const technology of stateStores) {
  describe(`${technology.name}, two clients`, () => {
    let clients: StoreClients;
    let a: StateStore;
    let b: StateStore;

    beforeAll(() => technology.start?.());
    afterAll(() => technology.stop?.());
    beforeEach(async () => {
      clients = await technology.connect();
      ({ a, b } = clients);
    });
    afterEach(() => clients.close());

    const opened = async (changes: Partial<SessionRecord> = {}): Promise<SessionRecord> => {
      const record = newRecord(changes);
      await a.open(record);
      return record;
    };

    /** A session that was tombstoned for idleness, with its tombstone's record. */
    const tombstoned = async (expiresAt: number, changes: Partial<SessionRecord> = {}): Promise<SessionRecord> => {
      const record = await opened({ lastActiveAt: T - DAY, ...changes });
      const expired = await a.expireIdle({ now: T, idleBefore: T - DAY + 1, tombstoneUntil: expiresAt, limit: 1 });
      expect(expired).toEqual([record]);
      return { ...record, upstreamSessionId: '' };
    };

    describe('open and find', () => {
      test('a session opened by one client is found by the other, field by field', async () => {
        const record = await opened({
          logLevel: '{"level":"debug"}',
          subscriptions: ['file:///b', 'file:///a'],
          generation: 3,
          listsGeneration: 4,
        });
        expect(await b.find(record, alice())).toEqual({ state: 'active', record });
      });

      test.each([null, '', 'https://upstream/messages?sessionId=1'])('upstream session id %j is kept', async (id) => {
        const record = await opened({ upstreamSessionId: id });
        expect(await b.find(record, alice())).toEqual({ state: 'active', record });
      });

      test('without authentication the principal is the empty string', async () => {
        const record = await opened({ principal: '' });
        expect(await b.find(record, { principal: '', now: T })).toEqual({ state: 'active', record });
        expect(await b.find(record, alice())).toEqual({ state: 'unknown' });
      });

      test('an unknown id and the session of another principal look the same', async () => {
        const record = await opened();
        expect(await b.find(newKey(), alice())).toEqual({ state: 'unknown' });
        expect(await b.find(record, mallory())).toEqual({ state: 'unknown' });
      });

      test('the same id on two servers is two sessions', async () => {
        const one = await opened();
        const other = await opened({ ...one, serverId: 'browser', upstreamSessionId: 'upstream-2' });
        const confusing = await opened({ ...one, serverId: 'files:x', sessionId: 'y' });
        expect(await b.find({ serverId: 'files', sessionId: 'x:y' }, alice())).toEqual({ state: 'unknown' });
        expect(await b.find(one, alice())).toEqual({ state: 'active', record: one });
        expect(await b.find(other, alice())).toEqual({ state: 'active', record: other });
        expect(await b.find(confusing, alice())).toEqual({ state: 'active', record: confusing });
      });

      test('finding a session is no activity', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        await b.find(record, alice(T));
        expect(await a.expireIdle({ now: T, idleBefore: T - 1, tombstoneUntil: null, limit: 9 })).toEqual([record]);
      });
    });

    describe('touch', () => {
      test('it reads the session and notes the activity, without a call', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        const touched = { state: 'active', record: { ...record, lastActiveAt: T } };
        expect(await b.touch(record, alice(T))).toEqual(touched);
        expect(await a.touch(record, alice(T - 1_000))).toEqual(touched);
        expect(await expire(b, { idleBefore: T })).toEqual([]);
        expect(await a.counts(T)).toEqual({ sessions: 1, tombstones: 0, inFlight: 0 });
        expect(await expire(b, { idleBefore: T + 1 })).toHaveLength(1);
      });

      test('only the session of the caller, and only an active one, is touched', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        expect(await b.touch(record, mallory(T))).toEqual({ state: 'unknown' });
        expect(await a.find(record, alice(T))).toEqual({ state: 'active', record });
        const ended = await tombstoned(T + DAY);
        expect(await b.touch(ended, alice(T))).toMatchObject({ state: 'tombstoned', expiresAt: T + DAY });
        expect(await b.touch(newKey(), alice(T))).toEqual({ state: 'unknown' });
        expect(await a.counts(T)).toMatchObject({ sessions: expect.any(Number), tombstones: 1 });
      });
    });

    test('active sessions are listed page by page, those that were used last first', async () => {
      const old = await opened({ lastActiveAt: T - 3 * MINUTE });
      const middle = await opened({ lastActiveAt: T - 2 * MINUTE });
      const newest = await opened({ lastActiveAt: T - MINUTE });
      await tombstoned(T + DAY);
      const ids = async (offset: number, limit: number): Promise<string[]> =>
        (await b.active({ offset, limit })).map(({ sessionId }) => sessionId);
      expect(await ids(0, 2)).toEqual([newest.sessionId, middle.sessionId]);
      expect(await ids(2, 2)).toEqual([old.sessionId]);
      expect(await ids(3, 2)).toEqual([]);
      expect(await ids(0, 0)).toEqual([]);
      await a.touch(old, alice(T));
      expect(await a.active({ offset: 0, limit: 1 })).toEqual([{ ...old, lastActiveAt: T }]);
    });

    describe('reserve and release', () => {
      test('active sessions and reservations share the places', async () => {
        await opened();
        expect(await reserve(a, newKey(), 2)).toBe(true);
        expect(await reserve(b, newKey(), 2)).toBe(false);
      });

      test('of 50 at once through both clients exactly 10 get one of 10 places', async () => {
        const results = await Promise.all(
          Array.from({ length: 50 }, (_, index) => reserve(index % 2 === 0 ? a : b, newKey(), 10)),
        );
        expect(results.filter(Boolean)).toHaveLength(10);
      });

      test('a released place can be taken again', async () => {
        const key = newKey();
        await reserve(a, key, 1);
        await b.release(key);
        expect(await reserve(b, newKey(), 1)).toBe(true);
      });

      test('a reservation turns into its session and does not count twice', async () => {
        const record = newRecord();
        await reserve(a, record, 2);
        await b.open(record);
        expect(await reserve(b, newKey(), 2)).toBe(true);
        expect(await reserve(a, newKey(), 2)).toBe(false);
      });

      test('a reservation that expired no longer counts', async () => {
        await reserve(a, newKey(), 1);
        expect(await reserve(b, newKey(), 1, T + MINUTE - 1)).toBe(false);
        expect(await reserve(b, newKey(), 1, T + MINUTE)).toBe(true);
      });

      test('reserving the same session again only extends it', async () => {
        const key = newKey();
        await reserve(a, key, 1);
        expect(await reserve(b, key, 1, T + MINUTE / 2)).toBe(true);
        expect(await reserve(a, newKey(), 1, T + MINUTE)).toBe(false);
      });

      test('tombstones take no place', async () => {
        await tombstoned(T + DAY);
        expect(await reserve(b, newKey(), 1)).toBe(true);
      });
    });

    describe('enter, renew and leave', () => {
      test('entering returns the session and notes the activity', async () => {
        const record = await opened();
        const active = { state: 'active', record: { ...record, lastActiveAt: T } };
        expect(await a.enter(record, alice(T), lease())).toEqual(active);
        expect(await b.find(record, alice(T))).toEqual(active);
      });

      test('a clock that is behind does not turn the activity back', async () => {
        const record = await opened({ lastActiveAt: T });
        const found = await b.enter(record, alice(T - 5_000), lease());
        expect(found).toEqual({ state: 'active', record });
      });

      test('of 50 calls at once through both clients exactly 5 run in 5 slots', async () => {
        const record = await opened();
        const results = await Promise.all(
          Array.from({ length: 50 }, (_, index) =>
            (index % 2 === 0 ? a : b).enter(record, alice(), lease(T + 30_000, 5)),
          ),
        );
        expect(states(results, 'active')).toBe(5);
        expect(states(results, 'limit')).toBe(45);
        expect((await a.counts(T)).inFlight).toBe(5);
      });

      test('a call that ends makes room, and ending it twice makes no more', async () => {
        const record = await opened();
        const [first, second] = [lease(T + 30_000, 2), lease(T + 30_000, 2)];
        await a.enter(record, alice(), first);
        await b.enter(record, alice(), second);
        await b.leave(record, first.id, T);
        await a.leave(record, first.id, T);
        expect((await a.enter(record, alice(), lease(T + 30_000, 2))).state).toBe('active');
        expect((await b.enter(record, alice(), lease(T + 30_000, 2))).state).toBe('limit');
      });

      test('the same call counts once', async () => {
        const record = await opened();
        const call = lease(T + 30_000, 1);
        await a.enter(record, alice(), call);
        expect((await b.enter(record, alice(), call)).state).toBe('active');
        expect((await a.counts(T)).inFlight).toBe(1);
      });

      test('a call over the limit is no activity', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        await a.enter(record, alice(T - MINUTE), lease(T + 30_000, 1));
        expect((await b.enter(record, alice(T), lease(T + 30_000, 1))).state).toBe('limit');
        expect(await a.find(record, alice(T))).toEqual({ state: 'active', record });
      });

      test('a lease that expired no longer counts', async () => {
        const record = await opened();
        await a.enter(record, alice(), lease(T + 30_000, 1));
        expect((await b.enter(record, alice(T + 29_999), lease(T + 60_000, 1))).state).toBe('limit');
        expect((await b.enter(record, alice(T + 30_000), lease(T + 60_000, 1))).state).toBe('active');
        expect((await a.counts(T + 30_000)).inFlight).toBe(1);
      });

      test('a renewed lease counts until its new end', async () => {
        const record = await opened();
        const other = await opened();
        const [call, otherCall] = [lease(), lease()];
        await a.enter(record, alice(), call);
        await a.enter(other, alice(), otherCall);
        const calls = [
          { key: record, lease: { id: call.id, until: T + 60_000 } },
          { key: other, lease: { id: otherCall.id, until: T + 50_000 } },
        ];
        await b.renew(calls, T);
        expect((await a.counts(T + 49_999)).inFlight).toBe(2);
        expect((await b.counts(T + 59_999)).inFlight).toBe(1);
        expect((await b.enter(record, alice(T + 59_999), lease(T + 90_000, 1))).state).toBe('limit');
      });

      test('renewing a call that has ended does not bring it back', async () => {
        const record = await opened();
        const call = lease();
        await a.enter(record, alice(), call);
        await a.leave(record, call.id, T);
        const calls = [
          { key: record, lease: call },
          { key: newKey(), lease: call },
        ];
        await b.renew(calls, T);
        expect((await b.counts(T)).inFlight).toBe(0);
      });

      test('another principal does not enter, and its try is no activity', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        expect(await b.enter(record, mallory(T), lease())).toEqual({ state: 'unknown' });
        expect(await a.find(record, alice())).toEqual({ state: 'active', record });
        expect((await a.counts(T)).inFlight).toBe(0);
      });

      test('nobody enters an unknown session or a tombstone', async () => {
        const record = await tombstoned(T + DAY);
        expect(await a.enter(newKey(), alice(), lease())).toEqual({ state: 'unknown' });
        expect(await b.enter(record, alice(), lease())).toEqual({ state: 'tombstoned', record, expiresAt: T + DAY });
        expect((await a.counts(T)).inFlight).toBe(0);
      });

      test.each(['ends', 'goes on'])('a call that %s is activity, not only when it begins', async (how) => {
        const record = await opened({ lastActiveAt: T - 2 * MINUTE });
        const call = lease();
        await a.enter(record, alice(T - MINUTE), call);
        if (how === 'ends') await a.leave(record, call.id, T);
        else await a.renew([{ key: record, lease: call }], T);
        expect(await b.find(record, alice())).toEqual({ state: 'active', record: { ...record, lastActiveAt: T } });
        await a.leave(record, call.id, T - 1);
        expect(await expire(b, { idleBefore: T })).toEqual([]);
        expect(await expire(b, { idleBefore: T + 1 })).toHaveLength(1);
      });

      test('a call that has ended already is no activity when it ends again, nor is one of a session that is gone', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        const [call, running] = [lease(), lease()];
        await a.enter(record, alice(T - MINUTE), call);
        await a.leave(record, call.id, T - MINUTE);
        await b.leave(record, call.id, T);
        await b.renew([{ key: record, lease: call }], T);
        expect(await a.find(record, alice())).toEqual({ state: 'active', record });
        await a.enter(record, alice(T - MINUTE), running);
        await a.invalidate(record, 'drift', T + DAY);
        await b.renew([{ key: record, lease: running }], T);
        await b.leave(record, running.id, T);
        expect(await b.find(record, alice())).toMatchObject({ state: 'invalidated' });
        expect(await a.counts(T)).toEqual({ sessions: 0, tombstones: 1, inFlight: 0 });
      });

      test('leaving an unknown session is harmless', async () => {
        await expect(b.leave(newKey(), 'no such call', T)).resolves.toBeUndefined();
      });
    });

    describe('revive', () => {
      test('a tombstone becomes an active session whose upstream must be initialised again', async () => {
        const record = await tombstoned(T + DAY, { subscriptions: ['file:///a'], logLevel: '{"level":"info"}' });
        expect(await b.find(record, alice())).toEqual({ state: 'tombstoned', record, expiresAt: T + DAY });
        const revived = { state: 'active', record: { ...record, lastActiveAt: T + MINUTE } };
        expect(await b.revive(record, alice(T + MINUTE), { maxActive: null })).toEqual(revived);
        expect(await a.find(record, alice())).toEqual(revived);
        expect(await a.counts(T)).toEqual({ sessions: 1, tombstones: 0, inFlight: 0 });
        expect(await a.expireTombstones({ now: T + 2 * DAY, limit: 9 })).toEqual([]);
      });

      test('not after the tombstone expired, and not by another principal', async () => {
        const record = await tombstoned(T + MINUTE);
        expect(await b.revive(record, mallory(), { maxActive: null })).toEqual({ state: 'unknown' });
        expect(await b.revive(record, alice(T + MINUTE), { maxActive: null })).toEqual({ state: 'unknown' });
        expect(await b.find(record, alice(T + MINUTE))).toEqual({ state: 'unknown' });
      });

      test('an active session is only read', async () => {
        const record = await opened();
        expect(await b.revive(record, alice(), { maxActive: 1 })).toEqual({ state: 'active', record });
        expect(await a.find(record, alice())).toEqual({ state: 'active', record });
      });

      test('an unknown session stays unknown', async () => {
        expect(await b.revive(newKey(), alice(), { maxActive: null })).toEqual({ state: 'unknown' });
      });

      test('six tombstones race for four places, two of which are reserved', async () => {
        const records = [];
        for (let index = 0; index < 6; index += 1) records.push(await tombstoned(T + DAY));
        for (let index = 0; index < 2; index += 1)
          await a.reserve(newKey(), { maxActive: 9, now: T, expiresAt: T + 9 });
        const results = await Promise.all(
          records.map((record, index) => (index % 2 === 0 ? a : b).revive(record, alice(), { maxActive: 4 })),
        );
        expect(states(results, 'active')).toBe(2);
        expect(states(results, 'limit')).toBe(4);
        expect(await b.counts(T)).toEqual({ sessions: 2, tombstones: 4, inFlight: 0 });
      });

      test('both clients revive one tombstone at once: it takes one place', async () => {
        const record = await tombstoned(T + DAY);
        const results = await Promise.all([a, b].map((store) => store.revive(record, alice(), { maxActive: 1 })));
        expect(states(results, 'active')).toBe(2);
      });
    });

    describe('changes of a session', () => {
      test('of 20 that replace the upstream session at once one wins', async () => {
        const record = await opened();
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            (index % 2 === 0 ? a : b).replaceUpstream(record, 0, {
              upstreamSessionId: `upstream-${index}`,
              protocolVersion: '2025-03-26',
            }),
          ),
        );
        const winner = results.indexOf(true);
        expect(results.filter(Boolean)).toHaveLength(1);
        expect(await b.find(record, alice())).toEqual({
          state: 'active',
          record: {
            ...record,
            generation: 1,
            upstreamSessionId: `upstream-${winner}`,
            protocolVersion: '2025-03-26',
          },
        });
      });

      test('the upstream session can be replaced by none', async () => {
        const record = await opened();
        const upstream = { upstreamSessionId: null, protocolVersion: record.protocolVersion };
        expect(await b.replaceUpstream(record, 0, upstream)).toBe(true);
        const found = await a.find(record, alice());
        expect(found).toEqual({ state: 'active', record: { ...record, upstreamSessionId: null, generation: 1 } });
      });

      test('the upstream session of a tombstone or an unknown session is not replaced', async () => {
        const record = await tombstoned(T + DAY);
        const upstream = { upstreamSessionId: 'upstream-2', protocolVersion: '2025-06-18' };
        expect(await b.replaceUpstream(record, 0, upstream)).toBe(false);
        expect(await b.replaceUpstream(newKey(), 0, upstream)).toBe(false);
      });

      test('log level and subscriptions are remembered, each URI once, in order', async () => {
        const record = await opened();
        await a.setLogLevel(record, '{"level":"error"}');
        for (const uri of ['file:///b', 'file:///ä "quoted" \\', 'file:///b', 'file:///c']) {
          await b.setSubscription(record, uri, true);
        }
        await a.setSubscription(record, 'file:///c', false);
        await a.setSubscription(record, 'file:///unknown', false);
        const changes = { logLevel: '{"level":"error"}', subscriptions: ['file:///b', 'file:///ä "quoted" \\'] };
        expect(await b.find(record, alice())).toEqual({ state: 'active', record: { ...record, ...changes } });
      });

      test('the last subscription can be forgotten', async () => {
        const record = await opened({ subscriptions: ['file:///a'] });
        await b.setSubscription(record, 'file:///a', false);
        expect(await a.find(record, alice())).toEqual({ state: 'active', record: { ...record, subscriptions: [] } });
      });

      test('no more subscriptions are kept than every request can read', async () => {
        const many = Array.from({ length: 999 }, (_, index) => `file:///${index}`);
        const record = await opened({ subscriptions: many });
        const long = `file:///${'x'.repeat(64 << 10)}`;
        for (const uri of [long, 'file:///last', 'file:///beyond', many[0] ?? '']) {
          await b.setSubscription(record, uri, true);
        }
        const kept = [...many, 'file:///last'];
        expect(await a.find(record, alice())).toEqual({ state: 'active', record: { ...record, subscriptions: kept } });
        await a.setSubscription(record, 'file:///last', false);
        await b.setSubscription(record, 'file:///next', true);
        const subscriptions = [...many, 'file:///next'];
        expect(await a.find(record, alice())).toEqual({ state: 'active', record: { ...record, subscriptions } });
      });

      test('subscriptions made at once through both clients are all kept', async () => {
        const record = await opened();
        const uris = Array.from({ length: 20 }, (_, index) => `file:///${index}`);
        await Promise.all(uris.map((uri, index) => (index % 2 === 0 ? a : b).setSubscription(record, uri, true)));
        const found = await b.find(record, alice());
        expect(found.state === 'active' && new Set(found.record.subscriptions)).toEqual(new Set(uris));
      });

      test('dropped lists are seen by both clients, and no drop is lost', async () => {
        const record = await opened();
        await Promise.all([a, b, a, b, a].map((store) => store.dropLists(record)));
        const found = { state: 'active', record: { ...record, listsGeneration: 5 } };
        expect(await a.find(record, alice())).toEqual(found);
        expect(await b.find(record, alice())).toEqual(found);
      });

      test('changes of an unknown session create nothing', async () => {
        const key = newKey();
        await a.setLogLevel(key, '{}');
        await a.setSubscription(key, 'file:///a', true);
        await a.dropLists(key);
        expect(await b.find(key, alice())).toEqual({ state: 'unknown' });
        expect(await b.remove(key)).toBeUndefined();
        expect(await b.counts(T)).toEqual({ sessions: 0, tombstones: 0, inFlight: 0 });
      });
    });

    describe('remove', () => {
      test('a session is removed with its leases, while calls run', async () => {
        const record = await opened({ lastActiveAt: T });
        const call = lease();
        await a.enter(record, alice(), call);
        expect(await b.remove(record)).toEqual(record);
        expect((await b.counts(T)).inFlight).toBe(0);
        await a.leave(record, call.id, T);
        await a.renew([{ key: record, lease: call }], T);
        expect(await a.find(record, alice())).toEqual({ state: 'unknown' });
        expect(await a.counts(T)).toEqual({ sessions: 0, tombstones: 0, inFlight: 0 });
      });

      test('of two that remove a session one gets its record', async () => {
        const record = await opened();
        const removed = await Promise.all([a.remove(record), b.remove(record)]);
        expect(removed.filter((each) => each !== undefined)).toEqual([record]);
      });

      test('a tombstone is removed too', async () => {
        const record = await tombstoned(T + DAY);
        expect(await b.remove(record)).toEqual(record);
        expect(await a.expireTombstones({ now: T + 2 * DAY, limit: 9 })).toEqual([]);
      });

      test('a session opened again under the id of a removed one starts without calls', async () => {
        const record = await opened();
        await a.enter(record, alice(), lease(T + 30_000, 1));
        await b.remove(record);
        await b.open(record);
        expect((await b.enter(record, alice(), lease(T + 30_000, 1))).state).toBe('active');
      });
    });

    describe('invalidate', () => {
      test('an invalidated session is refused with its reason until the time is over', async () => {
        const record = await opened();
        await b.enter(record, alice(), lease());
        expect(await a.invalidate(record, 'tool definitions changed', T + MINUTE)).toBe(true);
        const invalidated = { state: 'invalidated', reason: 'tool definitions changed', expiresAt: T + MINUTE };
        expect(await b.find(record, alice())).toEqual(invalidated);
        expect(await b.enter(record, alice(), lease())).toEqual(invalidated);
        expect(await b.revive(record, alice(), { maxActive: null })).toEqual(invalidated);
        expect(await b.find(record, mallory())).toEqual({ state: 'unknown' });
        expect(await b.find(record, alice(T + MINUTE))).toEqual({ state: 'unknown' });
        expect(await b.counts(T)).toEqual({ sessions: 0, tombstones: 1, inFlight: 0 });
      });

      test('the first reason stays', async () => {
        const record = await opened();
        await a.invalidate(record, 'first', T + MINUTE);
        expect(await b.invalidate(record, 'second', T + DAY)).toBe(true);
        const expected = { state: 'invalidated', reason: 'first', expiresAt: T + MINUTE };
        expect(await a.find(record, alice())).toEqual(expected);
      });

      test('a tombstone can be invalidated, an unknown session cannot', async () => {
        const record = await tombstoned(T + DAY);
        expect(await b.invalidate(record, 'drift', T + MINUTE)).toBe(true);
        expect((await a.find(record, alice())).state).toBe('invalidated');
        expect(await b.invalidate(newKey(), 'drift', T + MINUTE)).toBe(false);
      });
    });

    describe('expireIdle', () => {
      test('only sessions idle for longer end, as they were before', async () => {
        const idle = await opened({ lastActiveAt: T - 10_001 });
        const fresh = await opened({ lastActiveAt: T - 10_000 });
        expect(await expire(b)).toEqual([idle]);
        expect((await a.find(idle, alice())).state).toBe('tombstoned');
        expect((await a.find(fresh, alice())).state).toBe('active');
        expect(await a.counts(T)).toEqual({ sessions: 1, tombstones: 1, inFlight: 0 });
      });

      test('without tombstones the sessions are gone', async () => {
        const idle = await opened({ lastActiveAt: T - MINUTE });
        expect(await expire(b, { tombstoneUntil: null })).toEqual([idle]);
        expect(await a.find(idle, alice())).toEqual({ state: 'unknown' });
        expect(await a.remove(idle)).toBeUndefined();
        expect(await a.counts(T)).toEqual({ sessions: 0, tombstones: 0, inFlight: 0 });
      });

      test('a session with a running call stays, also when many stand before the limit', async () => {
        const busy = [];
        for (let index = 0; index < 5; index += 1) {
          const record = await opened({ lastActiveAt: T - 2 * MINUTE });
          await a.enter(record, alice(T - 2 * MINUTE), lease(T + 1));
          busy.push(record);
        }
        const idle = await opened({ lastActiveAt: T - MINUTE });
        expect(await expire(b, { limit: 2 })).toEqual([idle]);
        for (const record of busy) expect((await a.find(record, alice())).state).toBe('active');
      });

      test('a call whose lease expired does not keep the session', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        await a.enter(record, alice(T - MINUTE), lease(T));
        expect(await expire(b)).toHaveLength(1);
      });

      test('a call that ended does not keep the session', async () => {
        const record = await opened({ lastActiveAt: T - MINUTE });
        const call = lease();
        await a.enter(record, alice(T - MINUTE), call);
        await a.leave(record, call.id, T - MINUTE);
        expect(await expire(b)).toEqual([record]);
      });

      test('the limit is kept, and what is left comes next', async () => {
        for (let index = 0; index < 5; index += 1) await opened({ lastActiveAt: T - MINUTE });
        expect(await expire(a, { limit: 3 })).toHaveLength(3);
        expect(await expire(b, { limit: 3 })).toHaveLength(2);
        expect(await expire(a, { limit: 3 })).toEqual([]);
      });

      test('both clients at once: every session goes to one of them', async () => {
        const records = [];
        for (let index = 0; index < 30; index += 1) records.push(await opened({ lastActiveAt: T - MINUTE }));
        const results = (await Promise.all([expire(a), expire(b), expire(a), expire(b)])).flat();
        expect(results.map((record) => record.sessionId).sort()).toEqual(records.map((r) => r.sessionId).sort());
      });

      test.each(['goes on', 'ends at once'])(
        'racing with a call that %s, a session is expired or entered',
        async (how) => {
          const records: SessionRecord[] = [];
          for (let index = 0; index < 30; index += 1) records.push(await opened({ lastActiveAt: T - MINUTE }));
          const expiring = expire(b);
          const entering = records.map((record, index) => {
            const store = index % 2 === 0 ? a : b;
            const call = lease();
            const entered = store.enter(record, alice(T), call);
            return how === 'goes on'
              ? entered
              : Promise.all([entered, store.leave(record, call.id, T)]).then(([found]) => found);
          });
          const expired = new Set((await expiring).map((record) => record.sessionId));
          const entered = await Promise.all(entering);
          for (const [index, record] of records.entries()) {
            expect(entered[index]?.state).toBe(expired.has(record.sessionId) ? 'tombstoned' : 'active');
          }
          const { sessions, inFlight } = await a.counts(T);
          expect(sessions).toBe(30 - expired.size);
          expect(inFlight).toBe(how === 'goes on' ? sessions : 0);
        },
      );
    });

    describe('expireTombstones', () => {
      test('tombstones of both kinds go when they have expired, each to one client', async () => {
        const tombstone = await tombstoned(T + MINUTE);
        const later = await tombstoned(T + DAY);
        const invalidated = await opened();
        await a.invalidate(invalidated, 'drift', T + MINUTE);
        expect(await b.expireTombstones({ now: T + MINUTE - 1, limit: 9 })).toEqual([]);
        const results = await Promise.all([a, b].map((store) => store.expireTombstones({ now: T + MINUTE, limit: 9 })));
        const sorted = results.flat().sort((x, y) => x.sessionId.localeCompare(y.sessionId));
        expect(sorted).toEqual([tombstone, invalidated].sort((x, y) => x.sessionId.localeCompare(y.sessionId)));
        expect((await b.find(later, alice())).state).toBe('tombstoned');
        expect(await a.remove(tombstone)).toBeUndefined();
      });

      test('the limit is kept', async () => {
        for (let index = 0; index < 3; index += 1) await tombstoned(T + MINUTE);
        expect(await a.expireTombstones({ now: T + MINUTE, limit: 2 })).toHaveLength(2);
        expect(await b.expireTombstones({ now: T + MINUTE, limit: 2 })).toHaveLength(1);
      });
    });

    describe('counts and clear', () => {
      test('both clients count the same', async () => {
        const record = await opened();
        await opened();
        await tombstoned(T + MINUTE);
        await b.enter(record, alice(), lease());
        const counts = { sessions: 2, tombstones: 1, inFlight: 1 };
        expect(await a.counts(T)).toEqual(counts);
        expect(await b.counts(T)).toEqual(counts);
        expect(await b.counts(T + MINUTE)).toEqual({ sessions: 2, tombstones: 0, inFlight: 0 });
      });

      test('clear leaves nothing but locks', async () => {
        const record = await opened();
        const tombstone = await tombstoned(T + DAY);
        await a.enter(record, alice(), lease());
        await a.reserve(newKey(), { maxActive: 9, now: T, expiresAt: T + DAY });
        await a.tryLock('cleanup', 'one', MINUTE);
        await b.clear();
        expect(await a.counts(T)).toEqual({ sessions: 0, tombstones: 0, inFlight: 0 });
        expect(await a.find(record, alice())).toEqual({ state: 'unknown' });
        expect(await a.find(tombstone, alice())).toEqual({ state: 'unknown' });
        expect(await a.reserve(newKey(), { maxActive: 1, now: T, expiresAt: T + DAY })).toBe(true);
        expect(await a.lockHolder('cleanup')).toBe('one');
      });
    });

    describe('locks', () => {
      test('of 20 at once one gets the lock, and both clients see who', async () => {
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            (index % 2 === 0 ? a : b).tryLock('reinit', `owner-${index}`, MINUTE),
          ),
        );
        expect(results.filter(Boolean)).toHaveLength(1);
        const owner = `owner-${results.indexOf(true)}`;
        expect(await a.lockHolder('reinit')).toBe(owner);
        expect(await b.lockHolder('reinit')).toBe(owner);
      });

      test('the owner extends it, nobody else releases it', async () => {
        await a.tryLock('reinit', 'one', MINUTE);
        expect(await b.tryLock('reinit', 'one', MINUTE)).toBe(true);
        await b.unlock('reinit', 'two');
        expect(await b.tryLock('reinit', 'two', MINUTE)).toBe(false);
        await b.unlock('reinit', 'one');
        expect(await a.lockHolder('reinit')).toBeUndefined();
        expect(await a.tryLock('reinit', 'two', MINUTE)).toBe(true);
      });

      test('locks of different names do not touch each other', async () => {
        await a.tryLock('one', 'a', MINUTE);
        expect(await b.tryLock('two', 'b', MINUTE)).toBe(true);
      });

      test('a lock that is not extended ends by itself', async () => {
        await a.tryLock('reinit', 'one', 1_000);
        expect(await b.tryLock('reinit', 'two', 1_000)).toBe(false);
        await expect.poll(() => b.lockHolder('reinit'), { timeout: 10_000 }).toBeUndefined();
        expect(await b.tryLock('reinit', 'two', MINUTE)).toBe(true);
        await a.unlock('reinit', 'one');
        expect(await a.lockHolder('reinit')).toBe('two');
      });

      test('extending makes a lock last', async () => {
        await a.tryLock('reinit', 'one', 150);
        expect(await a.tryLock('reinit', 'one', MINUTE)).toBe(true);
        await a.tryLock('witness', 'one', 300);
        await expect.poll(() => b.lockHolder('witness')).toBeUndefined();
        expect(await b.lockHolder('reinit')).toBe('one');
      });
    });

    test('ping answers', async () => {
      await expect(a.ping()).resolves.toBeUndefined();
      await expect(b.ping()).resolves.toBeUndefined();
    });
  });
}
