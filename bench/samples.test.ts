import { describe, expect, test } from 'vitest';
import { compare, estimate, median } from './samples.ts';
import type { Sample } from './samples.ts';

const sample = (target: string, round: number, perSecond: number, calm = true): Sample => ({
  case: 'c16',
  target,
  round,
  values: { perSecond },
  calm,
});
const at = (target: string) => ({ case: 'c16', target });

describe('median', () => {
  test('is the middle, or the mean of the two in the middle', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([10, 1, 2, 4])).toBe(3);
    expect(median([])).toBeNaN();
  });

  test('compares numbers, not their digits, and leaves the list as it was', () => {
    const list = [100, 9, 20];
    expect(median(list)).toBe(20);
    expect(list).toEqual([100, 9, 20]);
  });
});

describe('an estimate', () => {
  test('takes only the calm samples', () => {
    const samples = [sample('a', 0, 10), sample('a', 1, 12), sample('a', 2, 900, false)];
    expect(estimate(samples, at('a'), 'perSecond')).toEqual({ value: 11, count: 2, disturbed: false });
  });

  test('takes the disturbed ones when there are no others, and says so', () => {
    expect(estimate([sample('a', 0, 5, false)], at('a'), 'perSecond')).toEqual({ value: 5, count: 1, disturbed: true });
  });

  test('of what other work does not disturb is not marked', () => {
    const { calm: _, ...memory } = sample('a', 0, 5);
    expect(estimate([memory], at('a'), 'perSecond')).toEqual({ value: 5, count: 1, disturbed: false });
  });

  test('is nothing without samples of that case, target and quantity', () => {
    expect(estimate([sample('a', 0, 5)], at('b'), 'perSecond')).toBeUndefined();
    expect(estimate([sample('a', 0, 5)], at('a'), 'p99')).toBeUndefined();
  });
});

describe('a comparison', () => {
  test('pairs the samples of a round', () => {
    // The machine slows down by half each round, which a ratio of medians would take for a difference.
    const speeds = [1, 0.5, 0.25];
    const samples = speeds.flatMap((speed, round) => [sample('a', round, 80 * speed), sample('b', round, 100 * speed)]);
    expect(compare(samples, at('a'), at('b'), 'perSecond', 'ratio')).toEqual({
      value: 0.8,
      count: 3,
      disturbed: false,
    });
    expect(compare(samples, at('a'), at('b'), 'perSecond', 'difference')?.value).toBe(-10);
  });

  test('a pair is calm only when both are', () => {
    const samples = [sample('a', 0, 1), sample('b', 0, 2, false), sample('a', 1, 3), sample('b', 1, 3)];
    expect(compare(samples, at('a'), at('b'), 'perSecond', 'ratio')).toEqual({ value: 1, count: 1, disturbed: false });
  });

  test('samples without a partner do not count', () => {
    expect(compare([sample('a', 0, 1), sample('b', 1, 2)], at('a'), at('b'), 'perSecond', 'ratio')).toBeUndefined();
  });
});
