import { expect, test } from 'vitest';
import { countingTurns } from './testing/counting-turns.ts';
import { inOwnTurn } from './own-turn.ts';

test('T17: large texts are worked on one after another, each in a turn of its own; a small one does not wait', async () => {
  const counted = countingTurns();
  const large = 'x'.repeat(300_000);
  const turns: number[] = [];
  const all = Array.from({ length: 5 }, async () => inOwnTurn(large, () => turns.push(counted.turns)));
  expect(inOwnTurn('small', () => 'at once')).toBe('at once');
  await Promise.all(all);
  counted.stop();
  expect([turns.length, new Set(turns).size]).toEqual([5, 5]);
});
