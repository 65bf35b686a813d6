import { expect, test } from 'vitest';

import { MemoryLimitTable } from './memory-limit-table.ts';

const T = 1_790_000_000_000;
const MINUTE = 60_000;

test('buckets that are as good as new do not pile up', () => {
  const table = new MemoryLimitTable();
  for (let n = 0; n < 50_000; n += 1) {
    const now = T + n * 10;
    table.setFreeAt(`address ${n}`, (now + 1_000) * 1_000, now);
  }
  expect(table.size).toBeLessThanOrEqual(1_001);
  expect(table.freeAt('address 49999')).toBeGreaterThan(0);
});

test('there are only so many; those that hold back most stay', () => {
  const table = new MemoryLimitTable();
  table.setFreeAt('server', (T + 100 * MINUTE) * 1_000, T);
  for (let n = 0; n < 500_000; n += 1) table.setFreeAt(`address ${n}`, (T + MINUTE) * 1_000 + n, T);
  expect(table.size).toBeLessThanOrEqual(200_000);
  expect(table.freeAt('server')).toBe((T + 100 * MINUTE) * 1_000);
});

test('places leave nothing behind', () => {
  const table = new MemoryLimitTable();
  table.setPlace('a', 'one', T + 1);
  table.setPlace('a', 'two', T + 2);
  table.setPlace('b', 'one', T + 1);
  expect([table.placesTaken('a', T), table.placesTaken('a', T + 1), table.placesTaken('b', T + 1)]).toEqual([2, 1, 0]);
  table.dropPlace('a', 'two');
  table.dropPlace('a', 'two');
  expect(table.size).toBe(0);
});
