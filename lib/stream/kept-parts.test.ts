import { expect, test } from 'vitest';

import { KeptParts } from './kept-parts.ts';

const kept = (sizes: Iterable<number>): KeptParts => {
  const parts = new KeptParts();
  let next = 0;
  for (const size of sizes) parts.push(Buffer.alloc(size, next++ % 251));
  return parts;
};

test.each<[string, number, (i: number) => number]>([
  ['of one byte', 20_000, () => 1],
  ['of two sizes', 20_000, (i) => 1 + (i % 2)],
  ['that become smaller', 20_000, (i) => 1023 - (i % 1023)],
  ['of which each second is larger', 20_000, (i) => (i % 2 === 0 ? 1 : 1024)],
  ['as they come from a socket', 200, () => 65_536],
])('M1 T17: many parts %s are kept in few large ones, and in their order', (_what, count, sizeOf) => {
  const sizes = Array.from({ length: count }, (_, i) => sizeOf(i));
  const parts = kept(sizes);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(parts.size).toBe(total);
  expect(parts.all.length).toBeLessThanOrEqual(17 + total / (256 << 10));
  // None of them lies in memory that holds something else alive.
  expect(parts.all.slice(17).every(({ buffer, length }) => buffer.byteLength <= Math.max(length, 256 << 10))).toBe(
    true,
  );
  const expected = Buffer.concat(sizes.map((size, i) => Buffer.alloc(size, i % 251)));
  expect(parts.whole().equals(expected)).toBe(true);
  expect(Buffer.concat(parts.all).equals(expected)).toBe(true);
});

test('few parts, and small ones, are left as they come; what comes after a look is added', () => {
  const one = Buffer.alloc(60_000);
  const parts = kept([]);
  parts.push(one);
  expect(parts.whole()).toBe(one);
  expect(kept([10, 10, 3, 1_400]).all.map(({ length }) => length)).toEqual([10, 10, 3, 1_400]);
  for (const size of [60_000, 5]) parts.push(Buffer.alloc(size));
  expect(parts.all.map(({ length }) => length)).toEqual([60_000, 60_005]);
  parts.push(Buffer.alloc(7));
  expect(parts.whole().length).toBe(120_012);
  parts.clear();
  expect([parts.size, parts.all]).toEqual([0, []]);
});
