import { expect, test } from 'vitest';

import { planSpill } from './plan-spill.ts';

test.each([
  [[10, 20, 30], 60, []],
  [[10, 20, 30], 59, [30]],
  [[10, 20, 30], 29, [20, 30]],
  [[10, 20, 30], 0, [10, 20, 30]],
  [[], 0, []],
] as const)('of texts of %j characters, with room for %d, these go: %j', (chars, room, gone) => {
  const parts = chars.map((one) => ({ chars: one }));
  expect(planSpill(parts, room).map((part) => part.chars)).toEqual(gone);
});
