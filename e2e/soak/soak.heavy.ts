import { expect, test } from 'vitest';
import { needsCollector } from '../support/collector/needs-collector.ts';
import { ATTACKS } from './attacks.ts';
import { SETTLED, soak } from './soak.ts';

needsCollector();

/** So long, each attack comes once at least. */
const HOSTILE_MS = 90_000;
const LIMIT_MIB = 512;

test('T17: hostile clients, upstreams and APIs end nothing, and good ones go on', { timeout: 600_000 }, async () => {
  const { adapter, scraper, attacks } = await soak(
    { calmMs: 10_000, hostileMs: HOSTILE_MS, afterMs: 0 },
    () => undefined,
  );
  expect(new Set(attacks.map(({ name }) => name))).toEqual(new Set(Object.keys(ATTACKS)));
  for (const [name, { hostile, memory }] of Object.entries({ adapter, scraper })) {
    expect([name, hostile.failed]).toEqual([name, 0]);
    expect(hostile.count).toBeGreaterThan(HOSTILE_MS / 2000);
    expect(memory.highest).toBeLessThan(LIMIT_MIB);
    expect(memory.used.after).toBeLessThanOrEqual(memory.used.before * SETTLED);
  }
});
