import { expect, test, vi } from 'vitest';

import { Caches } from './caches.ts';
import { sampleCaches } from './testing/sample-caches.ts';

const ENTRY = 1000;
const text = (size: number): string => 'x'.repeat(size);

test('T17: all caches together keep no more than their account, and what was used longest ago goes first', () => {
  const caches = sampleCaches(10 * ENTRY);
  const regions = [1, 2, 3].map(() => caches.region<string>(({ length }) => length));
  for (const key of ['a', 'b']) for (const region of regions) region.set(key, text(ENTRY));
  for (const key of ['c', 'd', 'e', 'f']) {
    regions[0]?.get('a');
    regions[1]?.set(key, text(ENTRY));
    expect(caches.size).toBeLessThanOrEqual(10 * ENTRY);
  }
  expect(regions.map((region) => region.get('a')?.length)).toEqual([ENTRY, undefined, undefined]);
  expect(regions[1]?.get('f')).toHaveLength(ENTRY);
});

test('keys, and entries without any text, count', () => {
  const caches = sampleCaches(10 * ENTRY);
  const region = caches.region<string>(({ length }) => length);
  for (let i = 0; i < 1000; i += 1) region.set(`${i}`, '');
  expect(region.get('1')).toBeUndefined();
  region.set(text(6 * ENTRY), '');
  expect(region.get(text(6 * ENTRY))).toBeUndefined();
});

test('what is as large as half of the account is not kept, and drives nothing out', () => {
  const caches = sampleCaches(10 * ENTRY);
  const region = caches.region<string>(({ length }) => length);
  region.set('small', 'x');
  region.set('large', text(6 * ENTRY));
  expect([region.get('small'), region.get('large')]).toEqual(['x', undefined]);
});

test('regions know only their own', () => {
  const caches = sampleCaches();
  const [one, other] = [caches.region<string>(() => 1), caches.region<string>(() => 1)];
  one.set('a', 'x');
  expect([one.get('a'), other.get('a')]).toEqual(['x', undefined]);
  other.delete('a');
  expect(one.get('a')).toBe('x');
  one.delete('a');
  expect(one.get('a')).toBeUndefined();
});

test('T17: what nobody asks for is forgotten after a while, without anybody asking', () => {
  vi.useFakeTimers();
  // Time 0 means none to lru-cache.
  vi.advanceTimersByTime(1);
  try {
    const caches = new Caches(10 * ENTRY, 60_000);
    const region = caches.region<string>(({ length }) => length);
    region.set('used', text(ENTRY));
    region.set('idle', text(ENTRY));
    for (let i = 0; i < 6; i += 1) {
      vi.advanceTimersByTime(15_000);
      region.get('used');
    }
    expect(caches.size).toBeGreaterThan(ENTRY);
    expect(caches.size).toBeLessThan(2 * ENTRY);
    expect(region.get('used')).toHaveLength(ENTRY);
    caches.stop();
    // lru-cache has one of its own for a second.
    vi.advanceTimersByTime(1000);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
