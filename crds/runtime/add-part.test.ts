import { expect, test } from 'vitest';

import { addPart } from './add-part.ts';

const added = (sizes: Iterable<number>): Buffer[] => {
  const parts: Buffer[] = [];
  let next = 0;
  for (const size of sizes) addPart(parts, Buffer.alloc(size, next++ % 251));
  return parts;
};

test.each<[string, (i: number) => number]>([
  ['of one byte', () => 1],
  ['of two sizes', (i) => 1 + (i % 2)],
  ['that become smaller', (i) => 1023 - (i % 1023)],
  ['of which each second is larger', (i) => (i % 2 === 0 ? 1 : 1024)],
])('M1 T17: small parts %s are kept in few, and in their order', (_what, sizeOf) => {
  const sizes = Array.from({ length: 20_000 }, (_, i) => sizeOf(i));
  const parts = added(sizes);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(parts.length).toBeLessThan(1100 + total / 400);
  expect(Buffer.concat(parts).equals(Buffer.concat(sizes.map((size, i) => Buffer.alloc(size, i % 251))))).toBe(true);
});

test('parts of ordinary sizes, and a few small ones, are left as they come', () => {
  expect(added([10, 10, 65_536, 1_400, 3, 1_400]).map(({ length }) => length)).toEqual([
    10, 10, 65_536, 1_400, 3, 1_400,
  ]);
  expect(added(Array.from({ length: 16 }, () => 5))).toHaveLength(16);
});
