import { expect, test } from 'vitest';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { ATTACKS } from './attacks.ts';
import { soak } from './soak.ts';

needsCollector();

/** So long, each attack comes once at least. */
const HOSTILE_MS = 150_000;
const LIMIT_MIB = 512;
/** Caches keep what hostile servers said last, up to their account: an eighth of the heap. */
const CACHES_MIB = 50;

test('T17: hostile clients, upstreams and APIs end nothing, and good ones go on', { timeout: 480_000 }, async () => {
  const { adapter, scraper, attacks } = await soak(
    { calmMs: 10_000, hostileMs: HOSTILE_MS, afterMs: 0 },
    () => undefined,
  );
  expect(Object.keys(attacks).toSorted()).toEqual(Object.keys(ATTACKS).toSorted());
  for (const [name, { hostile, memory }] of Object.entries({ adapter, scraper })) {
    expect([name, hostile.failed]).toEqual([name, 0]);
    expect(hostile.count).toBeGreaterThan(HOSTILE_MS / 2000);
    expect(memory.highest).toBeLessThan(LIMIT_MIB);
    expect(memory.used.after).toBeLessThan(memory.used.before + CACHES_MIB);
  }
});
