import { describe, expect, test } from 'vitest';
import { judge } from './goals.ts';
import type { Goal } from './goals.ts';
import { goalTable, markdownTable, measurementTable, report } from './report.ts';
import type { Sample } from './samples.ts';

const sample = (target: string, round: number, perSecond: number, calm = true): Sample => ({
  case: 'c16',
  target,
  round,
  values: { perSecond, p50: 1.234 },
  calm,
});
const goal: Goal = {
  case: 'c16',
  target: 'ours',
  metric: 'perSecond',
  to: { target: 'floor', how: 'ratio' },
  bound: { atLeast: 0.8 },
};

describe('the report', () => {
  test('columns of numbers are aligned to the right', () => {
    expect(markdownTable(['a', 'b', 'c'], [['x', '1', 'y']])).toBe('| a | b | c |\n|---|--:|---|\n| x | 1 | y |');
  });

  test('a measurement is one row with medians and how many samples were calm', () => {
    const table = measurementTable([sample('ours', 0, 10), sample('ours', 1, 30), sample('ours', 2, 99, false)]);
    expect(table.split('\n').at(-1)).toBe('| c16 | ours | 20 | 1.23 | 2 of 3 |');
  });

  test('where calm does not matter, none is claimed', () => {
    const { calm: _, ...memory } = sample('ours', 0, 10);
    expect(measurementTable([memory]).split('\n').at(-1)).toBe('| c16 | ours | 10 | 1.23 | – of 1 |');
  });

  test('a goal has its verdict, and the reason where a target does not exist here', () => {
    const samples = [0, 1, 2].flatMap((round) => [sample('ours', round, 70), sample('floor', round, 100)]);
    const outcome = {
      experiment: 'echo',
      samples,
      judgements: [judge(goal, samples)],
      absent: new Map(),
      failures: [],
    };
    expect(goalTable([outcome])).toContain(
      '| echo | ours, c16: calls/s ≥ 0.80 × floor | 0.70 (0.70 to 0.70) | missed |',
    );
    const missing = { ...outcome, samples: [], judgements: [judge(goal, [])], absent: new Map([['floor', 'gone']]) };
    expect(goalTable([missing])).toContain('| – | not measured: gone |');
  });

  test('what broke is listed', () => {
    const outcome = { experiment: 'echo', samples: [], judgements: [], absent: new Map(), failures: ['ours: 3 wrong'] };
    expect(report([outcome])).toBe('## Broken\n\n- echo: ours: 3 wrong');
  });
});
