import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LimitedCall, PlaceTaking, RateTaking, Taking } from './call-limits.ts';
import type { StateStore } from './state-store.ts';
import { sampleSession } from './testing/sample-session.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';

// Redis expires keys by its own clock, so the tests' times stay near the real ones.
const T = Math.floor(Date.now() / 1000) * 1000;
const LEASE = 30_000;

/** Ten a minute: one in six seconds. */
const rate = (changes: Partial<RateTaking> = {}): RateTaking => ({
  per: 'caller',
  key: 'up:caller|alice',
  intervalUs: 6_000_000,
  burst: 10,
  calls: 1,
  ...changes,
});
const place = (changes: Partial<PlaceTaking> = {}): PlaceTaking => ({
  per: 'server',
  key: 'up:server',
  most: 3,
  calls: 1,
  ...changes,
});
const of = (taking: Partial<Taking>, changes: Partial<LimitedCall> = {}): LimitedCall => ({
  id: randomUUID(),
  until: T + LEASE,
  taking: { rates: [], places: [], ...taking },
  ...changes,
});

const admitted = (results: readonly unknown[]): number => results.filter((result) => result === undefined).length;

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

    const take = (store: StateStore, taking: Partial<Taking>, now = T) => store.callLimits.take(of(taking), now);

    describe('a rate', () => {
      test('admits its burst of 50 calls at once through both clients, and says how long to wait', async () => {
        const results = await Promise.all(
          Array.from({ length: 50 }, (_, n) => take(n % 2 === 0 ? a : b, { rates: [rate()] })),
        );
        expect(admitted(results)).toBe(10);
        const refused = { state: 'rate', index: 0, waitMs: 6_000 };
        expect(results.filter((one) => one !== undefined)).toEqual(Array.from({ length: 40 }, () => refused));
      });

      test('admits who has waited as long as that, and nobody else then', async () => {
        for (let n = 0; n < 10; n += 1) await take(a, { rates: [rate()] });
        expect(await take(b, { rates: [rate()] }, T + 5_999)).toEqual({ state: 'rate', index: 0, waitMs: 1 });
        expect(await take(b, { rates: [rate()] }, T + 6_000)).toBeUndefined();
        expect(await take(a, { rates: [rate()] }, T + 6_000)).toEqual({ state: 'rate', index: 0, waitMs: 6_000 });
      });

      test('counts exactly where an interval is no whole number of milliseconds', async () => {
        const seven = rate({ intervalUs: Math.ceil(1_000_000 / 7), burst: 7 });
        for (let n = 0; n < 7; n += 1) expect(await take(n % 2 === 0 ? a : b, { rates: [seven] })).toBeUndefined();
        expect(await take(a, { rates: [seven] })).toEqual({ state: 'rate', index: 0, waitMs: 142.858 });
        expect(await take(b, { rates: [seven] }, T + 143)).toBeUndefined();
        expect(await take(a, { rates: [seven] }, T + 143)).toEqual({ state: 'rate', index: 0, waitMs: 142.716 });
      });

      test('of somebody else has a bucket of its own', async () => {
        const one = rate({ burst: 1 });
        expect(await take(a, { rates: [one] })).toBeUndefined();
        expect(await take(b, { rates: [{ ...one, key: 'up:caller|bob' }] })).toBeUndefined();
        expect(await take(b, { rates: [one] })).toMatchObject({ state: 'rate' });
      });

      test('takes calls that come together whole or not at all', async () => {
        const four = rate({ calls: 4 });
        expect(await take(a, { rates: [four] })).toBeUndefined();
        expect(await take(b, { rates: [four] })).toBeUndefined();
        expect(await take(a, { rates: [four] })).toEqual({ state: 'rate', index: 0, waitMs: 12_000 });
        expect(await take(b, { rates: [rate({ calls: 2 })] })).toBeUndefined();
        expect(await take(a, { rates: [rate()] })).toMatchObject({ state: 'rate' });
      });
    });

    describe('places', () => {
      test('of 50 calls at once through both clients exactly 3 get one of 3', async () => {
        const results = await Promise.all(
          Array.from({ length: 50 }, (_, n) => take(n % 2 === 0 ? a : b, { places: [place()] })),
        );
        expect(admitted(results)).toBe(3);
        expect(results.find((one) => one !== undefined)).toEqual({ state: 'places', index: 0 });
      });

      test('one that was given back is free at once; giving it back twice is harmless', async () => {
        const call = of({ places: [place({ most: 1 })] });
        expect(await a.callLimits.take(call, T)).toBeUndefined();
        expect(await take(b, { places: [place({ most: 1 })] })).toMatchObject({ state: 'places' });
        for (const store of [a, b]) await store.callLimits.leave({ id: call.id, places: call.taking.places });
        expect(await take(b, { places: [place({ most: 1 })] })).toBeUndefined();
        await a.callLimits.leave({ id: call.id, places: call.taking.places });
        expect(await take(b, { places: [place({ most: 1 })] })).toMatchObject({ state: 'places' });
      });

      test('a call that has one already takes nothing more', async () => {
        const call = of({ rates: [rate({ burst: 1 })], places: [place({ most: 1 })] });
        for (const store of [a, b]) expect(await store.callLimits.take(call, T)).toBeUndefined();
        await b.callLimits.leave({ id: call.id, places: call.taking.places });
        expect(await take(a, { places: [place({ most: 1 })] })).toBeUndefined();
      });

      test('calls that come together take one each, and give all back', async () => {
        const call = of({ places: [place({ calls: 2 })] });
        expect(await a.callLimits.take(call, T)).toBeUndefined();
        expect(await take(b, { places: [place({ calls: 2 })] })).toMatchObject({ state: 'places' });
        expect(await take(b, { places: [place()] })).toBeUndefined();
        await a.callLimits.leave({ id: call.id, places: call.taking.places });
        expect(await take(b, { places: [place({ calls: 2 })] })).toBeUndefined();
        expect(await take(b, { places: [place()] })).toMatchObject({ state: 'places' });
      });

      test('of a replica that is dead end by themselves; those that are renewed do not', async () => {
        const [dead, living] = [of({ places: [place({ most: 2 })] }), of({ places: [place({ most: 2 })] })];
        expect(await a.callLimits.take(dead, T)).toBeUndefined();
        expect(await b.callLimits.take(living, T)).toBeUndefined();
        await b.callLimits.renew([{ id: living.id, places: living.taking.places }], T + 2 * LEASE);
        const both = place({ most: 2, calls: 2 });
        expect(await take(a, { places: [place({ most: 2 })] }, T + LEASE - 1)).toMatchObject({ state: 'places' });
        expect(await take(a, { places: [both] }, T + LEASE)).toMatchObject({ state: 'places' });
        expect(await take(a, { places: [place({ most: 2 })] }, T + LEASE)).toBeUndefined();
      });

      test('that are gone are not renewed', async () => {
        const call = of({ places: [place({ most: 1 })] });
        const held = { id: call.id, places: call.taking.places };
        await a.callLimits.take(call, T);
        await a.callLimits.leave(held);
        await b.callLimits.renew([held], T + LEASE);
        expect(await take(b, { places: [place({ most: 1 })] })).toBeUndefined();
      });
    });

    describe('several limits', () => {
      test('of which one refuses give nothing away', async () => {
        const [wide, narrow] = [rate({ key: 'wide', burst: 2 }), rate({ key: 'narrow', burst: 1 })];
        expect(await take(a, { rates: [wide, narrow] })).toBeUndefined();
        for (let n = 0; n < 5; n += 1) {
          expect(await take(b, { rates: [wide, narrow] })).toEqual({ state: 'rate', index: 1, waitMs: 6_000 });
        }
        expect(await take(a, { rates: [wide] })).toBeUndefined();
        expect(await take(a, { rates: [wide] })).toMatchObject({ state: 'rate' });
      });

      test('are told by the one that takes longest', async () => {
        const [soon, late] = [rate({ key: 'soon', burst: 1 }), rate({ key: 'late', burst: 1, intervalUs: 60_000_000 })];
        await take(a, { rates: [late, soon] });
        expect(await take(b, { rates: [late, soon] })).toEqual({ state: 'rate', index: 0, waitMs: 60_000 });
        expect(await take(b, { rates: [soon, late] })).toEqual({ state: 'rate', index: 1, waitMs: 60_000 });
      });

      test('take nothing of a rate where no place is free, and no place where a rate refuses', async () => {
        const [one, other] = [place({ most: 1 }), place({ key: 'other', most: 5 })];
        const call = of({ rates: [rate({ burst: 2 })], places: [other, one] });
        expect(await a.callLimits.take(call, T)).toBeUndefined();
        expect(await take(b, call.taking)).toEqual({ state: 'places', index: 1 });
        await a.callLimits.leave({ id: call.id, places: [one] });
        expect(await take(b, call.taking)).toBeUndefined();
        expect(await take(b, call.taking)).toMatchObject({ state: 'rate' });
        // Two of five are taken: the three others are there.
        expect(await take(b, { places: [place({ key: 'other', most: 5, calls: 3 })] })).toBeUndefined();
        expect(await take(b, { places: [place({ key: 'other', most: 5 })] })).toMatchObject({ state: 'places' });
      });
    });

    describe('a call in a session', () => {
      const caller = (now = T) => ({ principal: '', now });
      const call = (taking: Partial<Taking>, changes: object = {}) => ({
        id: randomUUID(),
        until: T + LEASE,
        maxInFlight: null,
        taking: { rates: [], places: [], ...taking },
        ...changes,
      });
      const session = sampleSession('5'.repeat(32), { createdAt: T - 1_000, lastActiveAt: T - 1_000 });
      beforeEach(() => a.open(session));

      test('shares its limits with calls outside of one, and with all sessions', async () => {
        const other = { ...session, sessionId: '6'.repeat(32) };
        await b.open(other);
        const two = { rates: [rate({ burst: 2 })] };
        expect(await a.enter(session, caller(), call(two))).toMatchObject({ state: 'active' });
        expect(await b.enter(other, caller(), call(two))).toMatchObject({ state: 'active' });
        expect(await b.enter(other, caller(), call(two))).toEqual({ state: 'rate', index: 0, waitMs: 6_000 });
        expect(await take(a, two)).toEqual({ state: 'rate', index: 0, waitMs: 6_000 });
      });

      test('that a limit refuses is none: not in flight, and no activity', async () => {
        const none = { rates: [rate({ burst: 1 })] };
        await take(b, none);
        expect(await a.enter(session, caller(), call(none))).toMatchObject({ state: 'rate' });
        expect(await b.find(session, caller())).toEqual({ state: 'active', record: session });
        expect((await b.counts(T)).inFlight).toBe(0);
      });

      test('that is refused for the session takes nothing', async () => {
        const one = { rates: [rate({ burst: 1 })], places: [place({ most: 1 })] };
        expect(await a.enter(session, { principal: 'mallory', now: T }, call(one))).toEqual({ state: 'unknown' });
        const first = call({}, { maxInFlight: 1 });
        await a.enter(session, caller(), first);
        expect(await b.enter(session, caller(), call(one, { maxInFlight: 1 }))).toEqual({ state: 'limit' });
        await a.leave(session, first.id, T);
        expect(await b.enter(session, caller(), call(one, { maxInFlight: 1 }))).toMatchObject({ state: 'active' });
      });

      test('gives its places back with its lease, and they are renewed apart from it', async () => {
        const one = call({ places: [place({ most: 1 })] });
        expect(await a.enter(session, caller(), one)).toMatchObject({ state: 'active' });
        await a.callLimits.renew([{ id: one.id, places: one.taking.places }], T + 2 * LEASE);
        expect(await take(b, one.taking, T + LEASE)).toMatchObject({ state: 'places' });
        await b.leave(session, one.id, T, one.taking.places);
        expect(await take(b, one.taking, T + LEASE)).toBeUndefined();
        expect((await b.counts(T)).inFlight).toBe(0);
      });

      test('that is there already takes nothing more', async () => {
        const one = call({ rates: [rate({ burst: 1 })], places: [place({ most: 1 })] });
        expect(await a.enter(session, caller(), one)).toMatchObject({ state: 'active' });
        expect(await b.enter(session, caller(), { ...one, until: T + LEASE + 1 })).toMatchObject({ state: 'active' });
        expect((await b.counts(T + LEASE)).inFlight).toBe(1);
      });

      test('may be under limits without being counted', async () => {
        const one = call({ rates: [rate({ burst: 1 })] }, { isUncounted: true });
        const active = { state: 'active', record: { ...session, lastActiveAt: T } };
        expect(await a.enter(session, caller(), one)).toEqual(active);
        expect(await b.find(session, caller())).toEqual(active);
        expect((await b.counts(T)).inFlight).toBe(0);
        expect(await b.enter(session, caller(), { ...one, id: 'other' })).toMatchObject({ state: 'rate' });
      });
    });
  });
}
