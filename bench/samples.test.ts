import { describe, expect, test } from 'vitest';
import { compare, estimate, median, medianInterval } from './samples.ts';
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

describe('the interval of a median', () => {
  // The ranks of the sign test at 90 %, as in any table of it.
  test.each([
    [5, 1],
    [7, 1],
    [8, 2],
    [9, 2],
    [11, 3],
    [20, 6],
  ])('of %i values ends at the value of rank %i on either side', (count, rank) => {
    const values = Array.from({ length: count }, (_, i) => count - i);
    expect(medianInterval(values)).toEqual([rank, count + 1 - rank]);
  });

  test('of few values is all of them', () => {
    expect(medianInterval([3, 1, 2])).toEqual([1, 3]);
    expect(medianInterval([7])).toEqual([7, 7]);
  });
});

describe('an estimate', () => {
  test('takes only the calm samples', () => {
    const samples = [sample('a', 0, 10), sample('a', 1, 12), sample('a', 2, 900, false)];
    expect(estimate(samples, at('a'), 'perSecond')).toEqual({
      value: 11,
      low: 10,
      high: 12,
      count: 2,
      disturbed: false,
    });
  });

  test('takes the disturbed ones when there are no others, and says so', () => {
    expect(estimate([sample('a', 0, 5, false)], at('a'), 'perSecond')).toEqual({
      value: 5,
      low: 5,
      high: 5,
      count: 1,
      disturbed: true,
    });
  });

  test('of what other work does not disturb is not marked', () => {
    const { calm: _, ...memory } = sample('a', 0, 5);
    expect(estimate([memory], at('a'), 'perSecond')).toEqual({ value: 5, low: 5, high: 5, count: 1, disturbed: false });
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
    expect(compare(samples, at('a'), at('b'), 'perSecond', 'ratio')).toMatchObject({
      value: 0.8,
      low: 0.8,
      high: 0.8,
      count: 3,
    });
    expect(compare(samples, at('a'), at('b'), 'perSecond', 'difference')?.value).toBe(-10);
  });

  test('a pair is calm only when both are', () => {
    const samples = [sample('a', 0, 1), sample('b', 0, 2, false), sample('a', 1, 3), sample('b', 1, 3)];
    expect(compare(samples, at('a'), at('b'), 'perSecond', 'ratio')).toEqual({
      value: 1,
      low: 1,
      high: 1,
      count: 1,
      disturbed: false,
    });
  });

  test('samples without a partner do not count', () => {
    expect(compare([sample('a', 0, 1), sample('b', 1, 2)], at('a'), at('b'), 'perSecond', 'ratio')).toBeUndefined();
  });
});
