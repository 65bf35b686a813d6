import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Fence, Ledger, LedgerWindow, WindowRange } from './ledger.ts';
import { ledgers } from './testing/ledgers.ts';

const MINUTE = 60_000;
const T = Math.floor(Date.now() / MINUTE) * MINUTE - 86_400_000;
const STEPS = 400;

beforeAll(async () => {
  for (const technology of ledgers) await technology.start?.();
});
afterAll(async () => {
  for (const technology of ledgers) await technology.stop?.();
});

/** Numbers from 0 to 1 that look random and are the same each time (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Step = (ledger: Ledger, fence: Fence) => Promise<unknown>;

/** Something that a scraper or a user might do next. */
function anyStep(random: () => number, now: Date, plannedUntil: Date | undefined, windows: LedgerWindow[]): Step {
  const below = (limit: number): number => Math.floor(random() * limit);
  const some = windows[below(windows.length)]?.id ?? 'scheduled:1-2';
  const minutes = (start: number, count: number): WindowRange[] =>
    Array.from({ length: count }, (_, index) => ({
      start: new Date(start + index * MINUTE),
      end: new Date(start + (index + 1) * MINUTE),
    }));
  const error = `error ${below(9)}`;
  const later = new Date(now.getTime() + below(30) * 1000);
  const choice = below(100);
  if (choice < 12) {
    const start = plannedUntil?.getTime() ?? T;
    const ranges = minutes(start, below(6));
    const until = new Date(start + ranges.length * MINUTE);
    return (ledger, fence) => ledger.plan('s', plannedUntil, ranges, until, fence);
  }
  if (choice < 18) {
    const ranges = minutes(T - below(20) * MINUTE, below(6));
    return (ledger) => ledger.backfill('s', ranges, now);
  }
  if (choice < 34) return (ledger, fence) => ledger.exporting('s', some, fence);
  if (choice < 46) return (ledger, fence) => ledger.exported('s', some, fence);
  if (choice < 60) {
    const mayHaveArrived = random() < 0.2;
    return (ledger, fence) => ledger.failed('s', some, { error, nextAttemptAt: later, now, mayHaveArrived }, fence);
  }
  if (choice < 72) return (ledger, fence) => ledger.failed('s', some, { error, nextAttemptAt: 'dead', now }, fence);
  if (choice < 74) return (ledger) => ledger.retryDead('s', now);
  if (choice < 76) {
    const most = below(8);
    const split = ({ start, end }: WindowRange): WindowRange[] =>
      minutes(start.getTime(), (end.getTime() - start.getTime()) / MINUTE).slice(0, most);
    return (ledger) => ledger.retryDead('s', now, split);
  }
  if (choice < 78) return (ledger) => (random() < 0.5 ? ledger.pause('s') : ledger.resume('s'));
  const commit = { now, fingerprints: [], ttlMs: 1000, maxEntries: 10 };
  return (ledger, fence) => ledger.commit('s', some, commit, fence);
}

test.each([1, 2, 3])('all stores agree about whatever happens (%i)', async (seed) => {
  const clients = await Promise.all(ledgers.map((technology) => technology.connect()));
  try {
    const fences = await Promise.all(clients.map((client) => client.own('s')));
    const onEach = <R>(work: (ledger: Ledger, fence: Fence) => Promise<R>): Promise<R[]> =>
      Promise.all(clients.map(({ a }, index) => work(a, fences[index] ?? { token: 0n })));
    const random = numbers(seed);
    let now = new Date(T + 3_600_000);
    for (let index = 0; index < STEPS; index += 1) {
      now = new Date(now.getTime() + 1000);
      const [state] = await onEach((ledger) => ledger.source('s'));
      const [windows = []] = await onEach((ledger) => ledger.windows('s', { offset: 0, limit: 1000 }));
      const seedOfStep = random() * 2 ** 32;
      // Each store gets a step of its own, made of the same numbers.
      const steps = clients.map(() => anyStep(numbers(seedOfStep), now, state?.plannedUntil, windows));
      const results = await Promise.all(
        clients.map(async ({ a }, at) => await steps[at]?.(a, fences[at] ?? { token: 0n })),
      );
      const views = await onEach(async (ledger) => ({
        source: await ledger.source('s'),
        windows: await ledger.windows('s', { offset: 0, limit: 1000 }),
        due: (await ledger.due('s', now, 5)).map(({ id }) => id),
      }));
      for (const [at, view] of views.entries()) {
        expect(results[at]).toEqual(results[0]);
        expect(view).toEqual(views[0]);
      }
      const uncommitted = (views[0]?.windows ?? []).filter(
        (window) => window.kind === 'scheduled' && window.state !== 'committed',
      );
      const watermark = views[0]?.source?.watermark?.getTime();
      for (const window of uncommitted) expect(watermark).toBeLessThanOrEqual(window.start.getTime());
    }
  } finally {
    for (const client of clients) await client.close();
  }
});
