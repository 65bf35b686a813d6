import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnBudget } from './turn-budget.ts';

test('T17: a turn of the event loop has so many bytes, and the next as many again', async () => {
  const budget = new TurnBudget(100_000);
  const parts = (): boolean[] => Array.from({ length: 3 }, () => budget.isSpentBy(40_000));
  expect(parts()).toEqual([false, false, true]);
  expect(budget.isSpentBy(1)).toBe(true);
  await nextTurn();
  expect(parts()).toEqual([false, false, true]);
});

test('T17: a single byte counts as the work that it makes', () => {
  const budget = new TurnBudget(100_000);
  expect(Array.from({ length: 200 }, () => budget.isSpentBy(1)).indexOf(true)).toBe(97);
});
