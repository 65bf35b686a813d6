import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MOMENT, windowId } from './ledger.ts';
import type { Fence, Ledger, LedgerWindow, WindowCommit, WindowRange } from './ledger.ts';
import { ledgers } from './testing/ledgers.ts';
import type { LedgerClients } from './testing/ledgers.ts';

// Redis expires keys by its own clock, so the tests' times stay near the real ones.
const T = Math.floor(Date.now() / 60_000) * 60_000 - 86_400_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const at = (minutes: number): Date => new Date(T + minutes * MINUTE);
const range = (from: number, to: number): WindowRange => ({ start: at(from), end: at(to) });
const minutes = (from: number, to: number): WindowRange[] =>
  Array.from({ length: to - from }, (_, index) => range(from + index, from + index + 1));
const scheduled = (from: number, to = from + 1): string => windowId('scheduled', range(from, to));
const hash = (text: string | number): string => createHash('sha256').update(String(text)).digest('hex');
const hashes = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => hash(from + index));

const NOTHING: WindowCommit = { now: at(60), fingerprints: [], ttlMs: HOUR, maxEntries: 1000 };

for (const technology of ledgers) {
  describe(`${technology.name}, two clients`, () => {
    let clients: LedgerClients;
    let a: Ledger;
    let b: Ledger;
    let fence: Fence;

    beforeAll(() => technology.start?.());
    afterAll(() => technology.stop?.());
    beforeEach(async () => {
      clients = await technology.connect();
      ({ a, b } = clients);
      fence = await clients.own('s');
    });
    afterEach(() => clients.close());

    const plan = (windows: readonly WindowRange[], from: number | undefined, until: number, ledger = a) =>
      ledger.plan('s', from === undefined ? undefined : at(from), windows, at(until), fence);
    const commit = (id: string, changes: Partial<WindowCommit> = {}, ledger = a) =>
      ledger.commit('s', id, { ...NOTHING, ...changes }, fence);
    const die = (id: string, ledger = a) =>
      ledger.failed('s', id, { error: 'status 500', nextAttemptAt: 'dead', now: at(60) }, fence);
    const dueIds = async (now = at(1000), ledger = b): Promise<string[]> =>
      (await ledger.due('s', now, 1000)).map(({ id }) => id);
    const watermark = async (): Promise<Date | undefined> => (await b.source('s'))?.watermark;
    const stateOf = async (id: string): Promise<LedgerWindow | undefined> =>
      (await b.windows('s', { offset: 0, limit: 10_000 })).find((window) => window.id === id);
    const remember = async (fingerprints: readonly string[], changes: Partial<WindowCommit> = {}): Promise<void> => {
      const from = (await a.source('s'))?.plannedUntil;
      const start = from ?? at(0);
      const end = new Date(start.getTime() + 1);
      await a.plan('s', from, [{ start, end }], end, fence);
      expect(await commit(windowId('scheduled', { start, end }), { fingerprints, ...changes })).toBe(true);
    };

    describe('windows that are read while the process ends', () => {
      const begin = (id: string, ledger = a) => ledger.begin('s', id, fence);
      const end = (id: string, ledger = a) =>
        ledger.failed('s', id, { error: 'x', nextAttemptAt: at(0), now: at(60) }, fence);

      test('T17: what is begun and never ended is counted, for each window', async () => {
        await plan(minutes(0, 2), undefined, 2);
        expect([await begin(scheduled(0)), await begin(scheduled(0), b), await begin(scheduled(0))]).toEqual([0, 1, 2]);
        expect(await begin(scheduled(1))).toBe(0);
      });

      test('T17: a failure, a commit, and letting go are ends', async () => {
        await plan(minutes(0, 2), undefined, 2);
        await begin(scheduled(0));
        await begin(scheduled(0));
        await end(scheduled(0));
        expect(await begin(scheduled(0))).toBe(0);
        await commit(scheduled(0));
        expect(await begin(scheduled(0))).toBe(0);
        await begin(scheduled(1));
        await begin(scheduled(1));
        await b.letGo('s', scheduled(1));
        expect(await begin(scheduled(1))).toBe(1);
        for (let count = 0; count < 5; count += 1) await a.letGo('s', scheduled(1));
        expect(await begin(scheduled(1))).toBe(0);
      });

      test('T17: of moments, the one that takes the place of another goes on counting', async () => {
        await plan([range(1, 1), range(2, 2)], undefined, 2);
        await begin(MOMENT);
        const replaced = { error: 'x', nextAttemptAt: 'dead', now: at(60), isReplaced: true } as const;
        await a.failed('s', scheduled(1, 1), replaced, fence);
        expect(await begin(MOMENT)).toBe(1);
        await commit(scheduled(2, 2));
        expect(await begin(MOMENT)).toBe(0);
      });

      test('who has lost the source begins nothing', async () => {
        await plan(minutes(0, 1), undefined, 1);
        const old = { token: fence.token - 1n };
        expect(await a.begin('s', scheduled(0), old)).toBeUndefined();
        expect(await begin(scheduled(0))).toBe(0);
      });
    });

    describe('planning', () => {
      test('a source that was never planned is unknown', async () => {
        expect(await a.source('s')).toBeUndefined();
        expect(await dueIds()).toEqual([]);
      });

      test('a plan without windows only remembers the time', async () => {
        expect(await plan([], undefined, 5)).toBe(true);
        expect(await b.source('s')).toEqual({
          plannedUntil: at(5),
          watermark: at(5),
          lastSuccess: undefined,
          paused: false,
          openWindows: 0,
          deadWindows: 0,
        });
      });

      test('planned windows are due at once, oldest first, as many as are asked for', async () => {
        expect(await plan(minutes(0, 5).toReversed(), undefined, 5)).toBe(true);
        expect(await dueIds()).toEqual([0, 1, 2, 3, 4].map((start) => scheduled(start)));
        expect((await b.due('s', at(1000), 2)).map(({ id }) => id)).toEqual([scheduled(0), scheduled(1)]);
        expect(await stateOf(scheduled(3))).toEqual({
          id: scheduled(3),
          kind: 'scheduled',
          state: 'open',
          ...range(3, 4),
          attempts: 0,
          at: at(3),
          error: undefined,
          mayRepeat: false,
        });
      });

      test('of two that plan at once only one does', async () => {
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, index) => plan([range(0, 5)], undefined, 5, index % 2 === 0 ? a : b)),
        );
        expect(results.filter(Boolean)).toHaveLength(1);
        const again = await Promise.all([plan([range(5, 6)], 5, 6, a), plan([range(5, 7)], 5, 7, b)]);
        expect(again.filter(Boolean)).toHaveLength(1);
        expect((await a.source('s'))?.openWindows).toBe(2);
      });

      test('who plans from another time than the last plan ended writes nothing', async () => {
        await plan([range(0, 5)], undefined, 5);
        const before = await a.source('s');
        expect(await plan([range(4, 6)], 4, 6)).toBe(false);
        expect(await plan([range(0, 6)], undefined, 6)).toBe(false);
        expect(await a.source('s')).toEqual(before);
      });

      test('a source that nobody knows cannot be planned from a time', async () => {
        expect(await plan([range(3, 5)], 3, 5)).toBe(false);
        expect(await a.source('s')).toBeUndefined();
      });

      test('sources do not mix', async () => {
        await plan(minutes(0, 3), undefined, 3);
        await a.plan('s2', undefined, minutes(0, 2), at(2), await clients.own('s2'));
        expect(await dueIds()).toHaveLength(3);
        expect(await a.due('s2', at(1000), 10)).toHaveLength(2);
        expect(await a.source("o'neil:{x}")).toBeUndefined();
      });
    });

    describe('watermark', () => {
      test('moves only over windows that are committed without a gap', async () => {
        await plan(minutes(0, 5), undefined, 5);
        expect(await watermark()).toEqual(at(0));
        expect(await commit(scheduled(2))).toBe(true);
        expect(await commit(scheduled(1))).toBe(true);
        expect(await watermark()).toEqual(at(0));
        expect(await commit(scheduled(0))).toBe(true);
        expect(await watermark()).toEqual(at(3));
        await commit(scheduled(4));
        expect(await watermark()).toEqual(at(3));
        await commit(scheduled(3));
        expect(await watermark()).toEqual(at(5));
      });

      test('never passes an uncommitted window, in whatever order windows are committed', async () => {
        const all = minutes(0, 40);
        await plan(all, undefined, 40);
        // A fixed shuffle.
        const order = all
          .map((window, index) => ({ window, key: hash(index) }))
          .sort((x, y) => (x.key < y.key ? -1 : 1));
        const open = new Set(all.map(({ start }) => start.getTime()));
        for (const { window } of order) {
          await commit(windowId('scheduled', window));
          open.delete(window.start.getTime());
          expect((await watermark())?.getTime()).toBe(open.size === 0 ? at(40).getTime() : Math.min(...open));
        }
      });

      test('stays behind a window that is dead', async () => {
        await plan(minutes(0, 3), undefined, 3);
        await commit(scheduled(0));
        await die(scheduled(1));
        await commit(scheduled(2));
        expect(await watermark()).toEqual(at(1));
      });

      test('is not held back by a backfill', async () => {
        await plan(minutes(10, 12), undefined, 12);
        expect(await a.backfill('s', minutes(0, 5), at(20))).toBe(5);
        await commit(scheduled(10));
        await commit(scheduled(11));
        expect(await watermark()).toEqual(at(12));
      });
    });

    describe('a window', () => {
      test('that failed is due again at its time, and remembers attempts and error', async () => {
        await plan(minutes(0, 2), undefined, 2);
        const failure = { error: 'status 503: größe\nline two', nextAttemptAt: at(30), now: at(20) };
        expect(await a.failed('s', scheduled(0), failure, fence)).toBe(true);
        expect(await dueIds(at(29))).toEqual([scheduled(1)]);
        expect((await b.due('s', at(30), 10)).find(({ id }) => id === scheduled(0))).toMatchObject({
          attempts: 1,
          error: 'status 503: größe\nline two',
          state: 'open',
          mayRepeat: false,
        });
        await a.failed('s', scheduled(0), { ...failure, error: 'status 500' }, fence);
        expect(await stateOf(scheduled(0))).toMatchObject({ attempts: 2, error: 'status 500' });
      });

      test('that is dead is due no more, until it is retried', async () => {
        await plan(minutes(0, 2), undefined, 2);
        await die(scheduled(0));
        expect(await dueIds()).toEqual([scheduled(1)]);
        expect(await b.source('s')).toMatchObject({ openWindows: 1, deadWindows: 1 });
        expect(await stateOf(scheduled(0))).toMatchObject({ state: 'dead', attempts: 1, error: 'status 500' });
        expect(await b.retryDead('s', at(60))).toBe(1);
        expect(await dueIds(at(60))).toContain(scheduled(0));
        expect(await stateOf(scheduled(0))).toMatchObject({ state: 'open', attempts: 0 });
        expect(await b.source('s')).toMatchObject({ openWindows: 2, deadWindows: 0 });
        expect(await b.retryDead('s', at(60))).toBe(0);
      });

      test('that is committed is neither due nor can it fail', async () => {
        await plan(minutes(0, 1), undefined, 1);
        await commit(scheduled(0));
        expect(await dueIds()).toEqual([]);
        expect(await die(scheduled(0))).toBe(false);
        expect(await a.exporting('s', scheduled(0), fence)).toBe(false);
        expect(await stateOf(scheduled(0))).toMatchObject({ state: 'committed', at: at(60) });
        expect((await b.source('s'))?.lastSuccess).toEqual(at(60));
      });

      test('may be committed twice, as after a lost answer', async () => {
        await plan(minutes(0, 2), undefined, 2);
        const fingerprints = hashes(0, 3);
        expect(await commit(scheduled(0), { fingerprints })).toBe(true);
        expect(await commit(scheduled(0), { fingerprints })).toBe(true);
        expect(await watermark()).toEqual(at(1));
        expect((await a.seen('s', fingerprints, at(60))).size).toBe(3);
      });

      test('that does not exist cannot be committed, and its fingerprints are not kept', async () => {
        await plan(minutes(0, 2), undefined, 2);
        expect(await commit(scheduled(7), { fingerprints: hashes(0, 3) })).toBe(false);
        expect((await a.seen('s', hashes(0, 3), at(60))).size).toBe(0);
      });

      test('whose export a crash cut short is due, and may repeat', async () => {
        await plan(minutes(0, 3), undefined, 3);
        expect(await a.exporting('s', scheduled(0), fence)).toBe(true);
        await a.exporting('s', scheduled(1), fence);
        expect(await a.exported('s', scheduled(1), fence)).toBe(true);
        const due = await b.due('s', at(1000), 10);
        expect(due.map(({ state, mayRepeat }) => [state, mayRepeat])).toEqual([
          ['exporting', true],
          ['exported', true],
          ['open', false],
        ]);
        // It stays so through the next attempt.
        await a.exporting('s', scheduled(0), fence);
        await a.failed('s', scheduled(0), { error: 'refused', nextAttemptAt: at(1), now: at(1) }, fence);
        expect(await stateOf(scheduled(0))).toMatchObject({ state: 'open', mayRepeat: true });
      });

      test('whose export was refused does not repeat, but one whose export had no answer may', async () => {
        await plan(minutes(0, 2), undefined, 2);
        const failure = { error: 'export', nextAttemptAt: at(1), now: at(1) };
        await a.exporting('s', scheduled(0), fence);
        await a.failed('s', scheduled(0), failure, fence);
        await a.exporting('s', scheduled(1), fence);
        await a.failed('s', scheduled(1), { ...failure, mayHaveArrived: true }, fence);
        expect((await stateOf(scheduled(0)))?.mayRepeat).toBe(false);
        expect((await stateOf(scheduled(1)))?.mayRepeat).toBe(true);
      });
    });

    describe('what is known stays small', () => {
      test('dead windows that touch become one, whatever their order', async () => {
        await plan(minutes(0, 6), undefined, 6);
        for (const start of [0, 2, 1, 5]) await die(scheduled(start));
        const dead = (await b.windows('s', { offset: 0, limit: 10 })).filter(({ state }) => state === 'dead');
        expect(dead.map(({ start, end }) => [start, end])).toEqual([
          [at(5), at(6)],
          [at(0), at(3)],
        ]);
        expect(await watermark()).toEqual(at(0));
        expect(await b.source('s')).toMatchObject({ openWindows: 2, deadWindows: 2 });
      });

      test('what may repeat in them still may when they have become one', async () => {
        await plan(minutes(0, 2), undefined, 2);
        const failure = { error: 'no answer', nextAttemptAt: 'dead' as const, now: at(60), mayHaveArrived: true };
        await a.failed('s', scheduled(0), failure, fence);
        await die(scheduled(1));
        expect(await stateOf(scheduled(0, 2))).toMatchObject({ state: 'dead', mayRepeat: true });
        await b.retryDead('s', at(61));
        expect(await stateOf(scheduled(0, 2))).toMatchObject({ state: 'open', mayRepeat: true });
      });

      test('and are cut again when they are retried', async () => {
        await plan(minutes(0, 3), undefined, 3);
        for (const start of [0, 1, 2]) await die(scheduled(start));
        expect(await b.retryDead('s', at(60), () => minutes(0, 3))).toBe(1);
        expect(await dueIds(at(60))).toEqual([0, 1, 2].map((start) => scheduled(start)));
        for (const start of [0, 1, 2]) await commit(scheduled(start));
        expect(await watermark()).toEqual(at(3));
      });

      test('and what a retry leaves out at their end stays set aside', async () => {
        await plan(minutes(0, 4), undefined, 4);
        for (const start of [0, 1, 2, 3]) await die(scheduled(start));
        expect(await b.retryDead('s', at(60), () => minutes(0, 2))).toBe(1);
        expect(await dueIds(at(60))).toEqual([0, 1].map((start) => scheduled(start)));
        const rest = await stateOf(scheduled(2, 4));
        expect(rest).toMatchObject({ state: 'dead', attempts: 1, error: expect.any(String) });
        expect(await b.retryDead('s', at(60), () => [])).toBe(0);
        expect(await stateOf(scheduled(2, 4))).toEqual(rest);
        expect(await watermark()).toEqual(at(0));
        expect(await b.retryDead('s', at(60))).toBe(1);
        expect(await dueIds(at(60))).toEqual([...[0, 1].map((start) => scheduled(start)), scheduled(2, 4)]);
      });

      test('of committed windows the last hundred', async () => {
        await plan(minutes(0, 130), undefined, 130);
        for (let start = 0; start < 130; start += 1) await commit(scheduled(start), { now: at(200 + start) });
        const kept = await b.windows('s', { offset: 0, limit: 1000 });
        expect(kept.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, index) => scheduled(129 - index)));
        expect(await b.windows('s', { offset: 98, limit: 10 })).toHaveLength(2);
        expect(await watermark()).toEqual(at(130));
      });

      test('of dead moments the last hundred', async () => {
        const moments = Array.from({ length: 110 }, (_, index) => ({ start: at(index), end: at(index) }));
        await plan(moments, undefined, 110);
        for (const [index, moment] of moments.entries()) {
          const failure = { error: 'no', nextAttemptAt: 'dead' as const, now: at(200 + index) };
          await a.failed('s', windowId('scheduled', moment), failure, fence);
        }
        expect(await b.source('s')).toMatchObject({ deadWindows: 100, watermark: at(10) });
      });
    });

    describe('backfill', () => {
      test('goes beside scheduled windows, which come first, also over the same time', async () => {
        await plan(minutes(0, 2), undefined, 2);
        expect(await b.backfill('s', minutes(0, 3), at(10))).toBe(3);
        const due = await a.due('s', at(10), 10);
        expect(due.map(({ kind, start }) => [kind, start])).toEqual([
          ['scheduled', at(0)],
          ['scheduled', at(1)],
          ['backfill', at(0)],
          ['backfill', at(1)],
          ['backfill', at(2)],
        ]);
        expect(await commit(windowId('backfill', range(0, 1)))).toBe(true);
        expect(await dueIds()).toHaveLength(4);
        expect((await a.source('s'))?.plannedUntil).toEqual(at(2));
      });

      test('of windows that are open already adds nothing, and of committed ones does it again', async () => {
        expect(await a.backfill('s', minutes(0, 3), at(10))).toBe(3);
        expect(await b.backfill('s', minutes(0, 4), at(10))).toBe(1);
        expect(await commit(windowId('backfill', range(0, 1)))).toBe(true);
        expect(await b.backfill('s', minutes(0, 4), at(10))).toBe(1);
        expect(await a.source('s')).toMatchObject({ plannedUntil: undefined, watermark: undefined, openWindows: 4 });
      });

      test('a source can still be planned for the first time after it', async () => {
        await a.backfill('s', minutes(0, 3), at(10));
        expect(await plan(minutes(5, 6), undefined, 6)).toBe(true);
        expect(await watermark()).toEqual(at(5));
      });
    });

    test('a pause is remembered until the end of it', async () => {
      await a.pause('s');
      expect(await b.source('s')).toMatchObject({ paused: true, plannedUntil: undefined });
      expect(await plan(minutes(0, 1), undefined, 1)).toBe(true);
      expect(await b.source('s')).toMatchObject({ paused: true, plannedUntil: at(1) });
      await b.resume('s');
      expect(await a.source('s')).toMatchObject({ paused: false, plannedUntil: at(1) });
    });

    test('without the right proof nothing is written', async () => {
      await plan(minutes(0, 3), undefined, 3);
      const wrong = { token: fence.token + 1n };
      const before = await a.windows('s', { offset: 0, limit: 10 });
      expect(await a.plan('s', at(3), minutes(3, 4), at(4), wrong)).toBe(false);
      expect(await a.exporting('s', scheduled(0), wrong)).toBe(false);
      expect(await a.exported('s', scheduled(0), wrong)).toBe(false);
      expect(await a.failed('s', scheduled(0), { error: '', nextAttemptAt: 'dead', now: at(9) }, wrong)).toBe(false);
      expect(await a.commit('s', scheduled(0), { ...NOTHING, fingerprints: hashes(0, 5) }, wrong)).toBe(false);
      expect(await a.windows('s', { offset: 0, limit: 10 })).toEqual(before);
      expect((await a.seen('s', hashes(0, 5), at(60))).size).toBe(0);
      expect((await a.source('s'))?.plannedUntil).toEqual(at(3));
    });

    describe('fingerprints', () => {
      test('are seen once their window is committed, of their source only', async () => {
        await remember(hashes(0, 10));
        expect([...(await b.seen('s', hashes(5, 15), at(60)))].sort()).toEqual(hashes(5, 10).sort());
        expect((await b.seen('s2', hashes(0, 10), at(60))).size).toBe(0);
        expect((await b.seen('s', [], at(60))).size).toBe(0);
      });

      test('are forgotten after their time to live, which being seen does not prolong', async () => {
        const now = new Date();
        await remember(hashes(0, 2), { now, ttlMs: 60_000 });
        const later = (ms: number): Date => new Date(now.getTime() + ms);
        expect((await a.seen('s', hashes(0, 2), later(59_000))).size).toBe(2);
        expect((await a.seen('s', hashes(0, 2), later(62_000))).size).toBe(0);
        await remember(hashes(0, 1), { now: later(30_000), ttlMs: 60_000 });
        expect([...(await a.seen('s', hashes(0, 2), later(62_000)))]).toEqual(hashes(0, 1));
      });

      test('each keep the time to live that they were emitted with', async () => {
        const now = new Date();
        const later = (ms: number): Date => new Date(now.getTime() + ms);
        await remember(hashes(0, 1), { now, ttlMs: 600_000 });
        await remember(hashes(1, 2), { now, ttlMs: 60_000 });
        expect([...(await a.seen('s', hashes(0, 2), later(100_000)))]).toEqual(hashes(0, 1));
      });

      test('above the cap go oldest first', async () => {
        for (let page = 0; page < 4; page += 1) {
          const now = new Date(Date.now() + page * 1000);
          await remember(hashes(page * 10, page * 10 + 10), { now, maxEntries: 25 });
        }
        const seen = await a.seen('s', hashes(0, 40), new Date());
        expect(seen.size).toBe(25);
        expect(hashes(20, 40).every((text) => seen.has(text))).toBe(true);
        expect(hashes(0, 10).some((text) => seen.has(text))).toBe(false);
      });

      test('that are emitted again count as new', async () => {
        const now = Date.now();
        await remember(hashes(0, 10), { now: new Date(now), maxEntries: 20 });
        await remember(hashes(10, 20), { now: new Date(now + 1000), maxEntries: 20 });
        await remember(hashes(0, 10), { now: new Date(now + 2000), maxEntries: 20 });
        await remember(hashes(20, 30), { now: new Date(now + 3000), maxEntries: 20 });
        const seen = await a.seen('s', hashes(0, 30), new Date(now + 3000));
        expect([...seen].sort()).toEqual([...hashes(0, 10), ...hashes(20, 30)].sort());
      });

      test('clean-up removes those that have expired and no others', async () => {
        const now = new Date();
        await remember(hashes(0, 10), { now, ttlMs: HOUR });
        await remember(hashes(10, 13), { now, ttlMs: 2 * HOUR });
        const later = new Date(now.getTime() + 1.5 * HOUR);
        expect((await a.cleanUp(later, ['s', 'unknown'])).fingerprints).toBe(10);
        expect((await a.cleanUp(later, ['s'])).fingerprints).toBe(0);
        expect((await a.seen('s', hashes(0, 13), later)).size).toBe(3);
      });

      test('are looked up and kept in linear time', async () => {
        await remember(hashes(100_000, 140_000), { now: new Date(), maxEntries: 50_000 });
        let next = 0;
        /** Milliseconds of one window of new records; the best of some, as other tests run at the same time. */
        const page = async (records: number): Promise<number> => {
          const took: number[] = [];
          for (let turn = 0; turn < 4; turn += 1) {
            const fingerprints = hashes(next, (next += records));
            const from = (await a.source('s'))?.plannedUntil;
            const window = { start: from ?? at(0), end: new Date((from ?? at(0)).getTime() + 1) };
            await a.plan('s', from, [window], window.end, fence);
            const started = performance.now();
            expect((await a.seen('s', fingerprints, new Date())).size).toBe(0);
            const id = windowId('scheduled', window);
            expect(await commit(id, { now: new Date(), fingerprints, ttlMs: HOUR, maxEntries: 50_000 })).toBe(true);
            took.push(performance.now() - started);
          }
          return Math.min(...took);
        };
        const small = await page(2_000);
        expect(await page(10_000)).toBeLessThan(12 * small);
      });
    });

    test('clean-up leaves sources alone that are in use or known', async () => {
      await plan(minutes(0, 2), undefined, 2);
      await a.pause('other');
      await a.cleanUp(new Date(), ['other']);
      expect(await b.source('s')).toMatchObject({ openWindows: 2 });
      expect(await b.source('other')).toMatchObject({ paused: true });
    });
  });
}
