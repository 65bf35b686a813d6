import { describe, expect, test } from 'vitest';
import { describeGoal, describeMeasured, judge } from './goals.ts';
import type { Goal } from './goals.ts';
import type { Sample } from './samples.ts';

/** Three rounds that agree. */
const samples = (values: Record<string, number>, calm = true): Sample[] =>
  [0, 1, 2].flatMap((round) =>
    Object.entries(values).map(([target, perSecond]) => ({ case: 'c16', target, round, values: { perSecond }, calm })),
  );
/** One round for each value of ours, against a floor of 100. */
const rounds = (...ours: number[]): Sample[] =>
  ours.flatMap((perSecond, round) => [
    { case: 'c16', target: 'ours', round, values: { perSecond }, calm: true },
    { case: 'c16', target: 'floor', round, values: { perSecond: 100 }, calm: true },
  ]);

const ratio: Goal = {
  case: 'c16',
  target: 'ours',
  metric: 'perSecond',
  to: { target: 'floor', how: 'ratio' },
  bound: { atLeast: 0.8 },
};

describe('a verdict', () => {
  test('a lower bound is met by the bound itself and missed below it', () => {
    expect(judge(ratio, samples({ ours: 80, floor: 100 })).verdict).toBe('met');
    expect(judge(ratio, samples({ ours: 79, floor: 100 })).verdict).toBe('missed');
  });

  test('an upper bound is met by the bound itself and missed above it', () => {
    const goal: Goal = { ...ratio, bound: { atMost: 1.3 } };
    expect(judge(goal, samples({ ours: 130, floor: 100 })).verdict).toBe('met');
    expect(judge(goal, samples({ ours: 131, floor: 100 })).verdict).toBe('missed');
  });

  test('a difference and a plain value are judged as such', () => {
    const over: Goal = { ...ratio, to: { target: 'floor', how: 'difference' }, bound: { atMost: 5 } };
    expect(judge(over, samples({ ours: 105, floor: 100 })).verdict).toBe('met');
    expect(judge(over, samples({ ours: 106, floor: 100 })).verdict).toBe('missed');
    expect(judge({ ...ratio, to: undefined, bound: { atLeast: 90 } }, samples({ ours: 91 })).verdict).toBe('met');
  });

  test('disturbed samples prove nothing, either way', () => {
    expect(judge(ratio, samples({ ours: 300, floor: 100 }, false)).verdict).toBe('unclear');
    expect(judge(ratio, samples({ ours: 10, floor: 100 }, false)).verdict).toBe('unclear');
  });

  test('rounds on both sides of the bound prove nothing, wherever their median lies', () => {
    expect(judge(ratio, rounds(70, 90, 95)).verdict).toBe('unclear');
    expect(judge(ratio, rounds(60, 70, 85)).verdict).toBe('unclear');
    expect(judge(ratio, rounds(81, 90, 120)).verdict).toBe('met');
    expect(judge(ratio, rounds(50, 60, 79)).verdict).toBe('missed');
  });

  test('one outlier among many rounds does not matter', () => {
    expect(judge(ratio, rounds(40, 85, 85, 86, 87, 88, 89, 90, 91)).verdict).toBe('met');
  });

  test('two rounds are too few for a speed, one is enough for memory', () => {
    expect(judge(ratio, rounds(90, 95)).verdict).toBe('unclear');
    const growth: Goal = { case: 'c16', target: 'ours', metric: 'residentGrowth', bound: { atMost: 1.1 } };
    const once = (residentGrowth: number): Sample => ({
      case: 'c16',
      target: 'ours',
      round: 0,
      values: { residentGrowth },
    });
    expect(judge(growth, [once(1.1)]).verdict).toBe('met');
    expect(judge(growth, [once(1.2)]).verdict).toBe('missed');
  });

  test('without a bound a number is only shown', () => {
    expect(judge({ ...ratio, bound: undefined }, samples({ ours: 1, floor: 2 })).verdict).toBe('shown');
  });

  test('what has no samples is never met', () => {
    expect(judge(ratio, []).verdict).toBe('not measured');
    expect(judge(ratio, samples({ ours: 500 })).verdict).toBe('not measured');
    expect(judge(ratio, samples({ ours: 0, floor: 0 })).verdict).toBe('not measured');
  });
});

describe('a goal in words', () => {
  test('names target, case, quantity, limit and what it is compared with', () => {
    expect(describeGoal(ratio)).toBe('ours, c16: calls/s ≥ 0.80 × floor');
    expect(
      describeGoal({
        ...ratio,
        metric: 'p50',
        to: { target: 'direct', how: 'difference' },
        bound: { atMost: 0.28 },
      }),
    ).toBe('ours, c16: p50 ≤ 0.28 ms over direct');
    expect(describeGoal({ ...ratio, bound: undefined })).toBe('ours, c16: calls/s, × floor');
    expect(describeGoal({ ...ratio, metric: 'startSeconds', to: undefined, bound: { atMost: 0.7 } })).toBe(
      'ours, c16: start to first 200 of /livez ≤ 0.700 s',
    );
  });

  test('a number comes with its interval, and says when it rests on disturbed samples', () => {
    expect(describeMeasured(judge(ratio, rounds(70, 80, 95)))).toBe('0.80 (0.70 to 0.95)');
    expect(describeMeasured(judge(ratio, rounds(80)))).toBe('0.80');
    expect(describeMeasured(judge(ratio, samples({ ours: 80, floor: 100 }, false)))).toBe(
      '0.80 (0.80 to 0.80), disturbed',
    );
    expect(describeMeasured(judge(ratio, []))).toBe('–');
  });

  test('a near miss is not rounded into a hit', () => {
    expect(describeMeasured(judge(ratio, samples({ ours: 79.96, floor: 100 })))).toBe('0.7996 (0.80 to 0.80)');
    expect(describeMeasured(judge(ratio, samples({ ours: 80.04, floor: 100 })))).toBe('0.80 (0.80 to 0.80)');
  });
});
