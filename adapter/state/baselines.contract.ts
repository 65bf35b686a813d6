import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Baseline } from '../catalog/baseline.ts';
import type { SessionKey, SessionRecord, StateStore } from './state-store.ts';
import { DAY, newSession, T, tombstone } from './testing/files.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';

const alice = { principal: 'alice', now: T };

const newBaseline = (text = `[["größe \\"1\\" \\\\ 🐘","${randomUUID()}",""]]`): Baseline => ({
  fingerprint: randomUUID(),
  text,
});

for (const technology of stateStores) {
  describe(`pins in ${technology.name}, two clients`, () => {
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
      const record = newSession(changes);
      await a.open(record);
      return record;
    };

    /** A session with a pin, as it is stored. */
    const pinned = async (baseline: Baseline, changes: Partial<SessionRecord> = {}): Promise<SessionRecord> => {
      const record = await opened(changes);
      expect(await a.pin(record, baseline)).toEqual(baseline);
      return { ...record, baseline: baseline.fingerprint };
    };

    const expectNothing = async (session: SessionKey): Promise<void> => {
      for (const store of [a, b]) expect(await store.baseline(session)).toBeUndefined();
    };

    test('before the first pin there is none', async () => {
      const record = await opened();
      expect(await b.find(record, alice)).toEqual({ state: 'active', record });
      await expectNothing(record);
    });

    test('the first pin wins, for both clients, letter by letter', async () => {
      const [first, second] = [newBaseline(), newBaseline()];
      const record = await pinned(first);
      expect(await b.pin(record, second)).toEqual(first);
      expect(await b.pin(record, first)).toEqual(first);
      expect(await b.baseline(record)).toEqual(first);
      const found = { state: 'active', record };
      expect(await a.find(record, alice)).toEqual(found);
      expect(await b.find(record, alice)).toEqual(found);
    });

    test('of 50 at once through both clients one wins, and all get the same', async () => {
      const record = await opened();
      const tried = Array.from({ length: 50 }, () => newBaseline());
      const got = await Promise.all(tried.map((baseline, index) => (index % 2 === 0 ? a : b).pin(record, baseline)));
      const [winner] = got;
      expect(tried).toContainEqual(winner);
      for (const each of got) expect(each).toEqual(winner);
      expect(await b.baseline(record)).toEqual(winner);
    });

    test('enter, touch and every change of the session keep the pin and tell of it', async () => {
      const record = await pinned(newBaseline(), { lastActiveAt: T });
      const { baseline } = record;
      const call = { id: randomUUID(), until: T + 30_000, maxInFlight: null };
      expect(await b.enter(record, alice, call)).toMatchObject({ record: { baseline } });
      expect(await b.touch(record, { ...alice, now: T + 5_000 })).toMatchObject({ record: { baseline } });
      await a.leave(record, call.id, T);
      await b.setLogLevel(record, '{"level":"error"}');
      await a.setSubscription(record, 'file:///a', true);
      await b.dropLists(record);
      const upstream = { upstreamSessionId: 'upstream-2', protocolVersion: '2025-06-18' };
      expect(await b.replaceUpstream(record, 0, upstream)).toBe(true);
      expect(await a.find(record, alice)).toMatchObject({ record: { baseline, generation: 1, listsGeneration: 1 } });
      expect(await a.baseline(record)).toMatchObject({ fingerprint: baseline });
    });

    test('a tombstone cannot be pinned, and what was pinned before is there again after its revival', async () => {
      const baseline = newBaseline();
      const [record, unpinned] = [await pinned(baseline), await opened()];
      expect(await tombstone(b)).toContainEqual(record);
      expect(await a.pin(record, newBaseline())).toBeUndefined();
      expect(await a.pin(unpinned, newBaseline())).toBeUndefined();
      expect(await a.find(record, alice)).toMatchObject({ state: 'tombstoned', record: { baseline: record.baseline } });
      expect(await a.baseline(record)).toEqual(baseline);
      expect(await b.revive(record, alice, { maxActive: null })).toMatchObject({
        record: { baseline: record.baseline },
      });
      expect(await a.pin(record, newBaseline())).toEqual(baseline);
      expect(await b.revive(unpinned, alice, { maxActive: null })).toMatchObject({ record: { baseline: null } });
      expect(await a.pin(unpinned, baseline)).toEqual(baseline);
    });

    test('an unknown and an invalidated session have none, and get none', async () => {
      const unknown = newSession();
      expect(await a.pin(unknown, newBaseline())).toBeUndefined();
      await expectNothing(unknown);
      expect(await b.find(unknown, alice)).toEqual({ state: 'unknown' });
      const record = await pinned(newBaseline());
      await b.invalidate(record, 'drift', T + DAY);
      expect(await a.pin(record, newBaseline())).toBeUndefined();
      await expectNothing(record);
    });

    test.each<[string, (record: SessionRecord) => Promise<unknown>]>([
      ['was removed', (record) => b.remove(record)],
      ['expired without a tombstone', () => b.expireIdle({ now: T, idleBefore: T, tombstoneUntil: null, limit: 9 })],
      [
        'was a tombstone that expired',
        async () => {
          await tombstone(b, T + 1);
          await a.expireTombstones({ now: T + 1, limit: 9 });
        },
      ],
      ['was cleared', () => b.clear()],
      ['is still there', async () => undefined],
    ])('a session opened again under the key of one that %s has no pin', async (_, end) => {
      const record = await pinned(newBaseline());
      await end(record);
      await b.open({ ...record, baseline: null });
      await expectNothing(record);
      expect(await a.find(record, alice)).toMatchObject({ state: 'active', record: { baseline: null } });
      const next = newBaseline();
      expect(await a.pin(record, next)).toEqual(next);
      expect(await b.baseline(record)).toEqual(next);
    });

    test('what ends a session returns its record with the pin', async () => {
      const record = await pinned(newBaseline());
      expect(await b.remove(record)).toEqual(record);
      const idle = await pinned(newBaseline());
      expect(await b.expireIdle({ now: T, idleBefore: T, tombstoneUntil: null, limit: 9 })).toEqual([idle]);
    });

    test('sessions with the same tools do not depend on each other', async () => {
      const baseline = newBaseline();
      const [one, two] = [await pinned(baseline), await pinned(baseline)];
      await b.remove(one);
      await expectNothing(one);
      expect(await b.baseline(two)).toEqual(baseline);
      expect(await a.pin(two, newBaseline())).toEqual(baseline);
    });

    test('the same session id on two servers has two pins', async () => {
      const [first, second] = [newBaseline(), newBaseline()];
      const one = await pinned(first);
      const other = await pinned(second, { ...one, serverId: 'browser', baseline: null });
      expect(await b.baseline(one)).toEqual(first);
      expect(await b.baseline(other)).toEqual(second);
      await b.remove(one);
      expect(await a.baseline(other)).toEqual(second);
    });

    test('racing with the end of the session, a pin leaves nothing behind', async () => {
      for (let round = 0; round < 10; round += 1) {
        const record = await opened();
        await Promise.all([a.pin(record, newBaseline()), b.remove(record), a.pin(record, newBaseline())]);
        await a.open(record);
        await expectNothing(record);
      }
    });

    test('a long text is kept, and of one that is too long the fingerprint', async () => {
      const long = newBaseline('x'.repeat(64 << 10));
      const record = await pinned(long);
      expect(await b.baseline(record)).toEqual(long);
      const tooLong = newBaseline('x'.repeat((64 << 10) + 1));
      const other = await pinned(tooLong);
      expect(await b.baseline(other)).toEqual({ ...tooLong, text: '' });
      expect(await b.pin(other, long)).toEqual({ ...tooLong, text: '' });
    });
  });
}
