import { expect, test } from 'vitest';

import { bodyBudget, ByteBudget } from './byte-budget.ts';

test('T17: there is room for so many bytes of all together, and none is lost or given back twice', () => {
  const budget = new ByteBudget(10);
  const [one, other] = [budget.share(), budget.share()];
  expect([one.take(6), other.take(5), other.take(4), one.take(1), budget.used]).toEqual([true, false, true, false, 10]);
  one.giveBack();
  one.giveBack();
  expect([budget.used, one.take(1), budget.used]).toEqual([4, false, 4]);
  other.giveBack();
  expect([budget.used, budget.share().take(10)]).toEqual([0, true]);
});

test.each([
  [{ memory: 512, heap: 256, largest: 16 }, 64],
  [{ memory: 512, heap: 2048, largest: 16 }, 128],
  [{ memory: 64, heap: 32, largest: 16 }, 16],
])('T17: bodies may take a quarter of what there is, and one always fits: %j', (memory, expected) => {
  expect(bodyBudget(memory)).toBe(expected);
});
