import { describe, expect, test } from 'vitest';
import { compileReadings } from './compile-readings.ts';
import { Contribution } from './contribution.ts';
import { CumulativeState } from './cumulative-state.ts';
import { measuredSource } from './testing/measured-source.ts';

type Item = readonly [second: number, total: number];

const source = measuredSource({
  counterReadings: [{ name: 't', dataKey: 'total', cumulative: true }],
  timestampKey: 'at',
});
const at = (second: number): Date => new Date(second * 1000);

/** Running totals that were read in one window, each in an answer of its own; those of second 0 say no time. */
function read([start, end]: readonly [number, number], ...items: readonly Item[]): Contribution {
  const into = new Contribution();
  const add = compileReadings(source, () => undefined);
  for (const [second, total] of items) {
    const record = second === 0 ? { total } : { total, at: second };
    add([record], {}, into, { observed: 1n, window: { start: at(start), end: at(end) } });
  }
  return into;
}

/** What the counter shows after these windows, in the order of their acknowledgements. */
function counted(...windows: readonly Contribution[]): number | undefined {
  const state = new CumulativeState();
  for (const window of windows) state.take([window]);
  return state.all()[0]?.total.value;
}

describe('running totals count what they grew by', () => {
  test.each<[string, readonly Item[], number]>([
    [
      'oldest first',
      [
        [1, 100],
        [2, 110],
        [3, 120],
      ],
      20,
    ],
    [
      'newest first',
      [
        [3, 120],
        [2, 110],
        [1, 100],
      ],
      20,
    ],
    [
      'in any order',
      [
        [2, 110],
        [3, 120],
        [1, 100],
      ],
      20,
    ],
    [
      'newest first, with several at one time',
      [
        [3, 120],
        [3, 115],
        [2, 110],
        [2, 105],
        [1, 100],
      ],
      20,
    ],
    [
      'with a fall, which is a new start',
      [
        [1, 100],
        [2, 110],
        [3, 5],
        [4, 6],
      ],
      16,
    ],
    [
      'with a fall, newest first',
      [
        [4, 6],
        [3, 5],
        [2, 110],
        [1, 100],
      ],
      16,
    ],
    [
      'without a time of their own',
      [
        [0, 100],
        [0, 110],
        [0, 5],
      ],
      15,
    ],
  ])('%s', (_order, items, growth) => {
    expect(counted(read([0, 60], ...items))).toBe(growth);
  });

  test('windows in whatever order they are acknowledged', () => {
    const windows = (): Contribution[] => [
      read([0, 60], [0, 100], [0, 110]),
      read([60, 120], [0, 110], [0, 120]),
      read([120, 180], [0, 125], [0, 140]),
    ];
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [1, 2, 0],
      [0, 2, 1],
    ]) {
      expect(counted(...order.flatMap((place) => windows()[place] ?? []))).toBe(40);
    }
  });

  test('windows that were counted before, or in part', () => {
    const [early, late] = [read([0, 60], [0, 100], [0, 110]), read([60, 120], [0, 110], [0, 120])];
    expect(counted(early, late, read([0, 60], [0, 100], [0, 110]))).toBe(20);
    expect(counted(early, late, read([30, 90], [0, 105], [0, 115]))).toBe(20);
    expect(counted(early, late, read([90, 180], [0, 115], [0, 130]))).toBe(30);
    expect(counted(late, read([30, 90], [0, 105], [0, 115]))).toBe(15);
  });

  test('windows whose records say when they were', () => {
    const [early, late] = [read([0, 60], [50, 110], [10, 100]), read([60, 120], [110, 130], [70, 120])];
    expect([counted(early, late), counted(late, early)]).toEqual([30, 30]);
  });
});

describe('H6 T17: the sets of attributes that sums keep are bounded by their bytes', () => {
  const labelled = (name: string, maxSeriesBytes: string) =>
    measuredSource({
      name,
      counterReadings: [{ name: 'c', dataKey: 'v' }],
      attributes: [{ name: 'a', dataKey: 'a' }],
      maxSeriesBytes,
    });
  /** A window with so many sets that no other has. */
  function window(of: ReturnType<typeof measuredSource>, round: number, sets = 10): Contribution {
    const into = new Contribution();
    const records = Array.from({ length: sets }, (_, place) => ({ v: 1, a: `${round} ${place} ${'x'.repeat(1000)}` }));
    compileReadings(of, () => undefined)(records, {}, into, { observed: 1n });
    return into;
  }
  const seriesOf = (state: CumulativeState, name: string) => {
    const all = state.all().filter(({ metric }) => metric.source === name);
    const isOverflow = ({ total }: (typeof all)[number]): boolean => total.attributes['otel.metric.overflow'] === true;
    return {
      sets: all.filter((point) => !isOverflow(point)).length,
      overflow: all.find(isOverflow)?.total.value,
    };
  };

  test('of one source, over all its windows, also of those that are sent together', () => {
    const source = labelled('s', '64Ki');
    const state = new CumulativeState();
    state.take([1, 2, 3, 4, 5].map((round) => window(source, round)));
    for (let round = 6; round <= 10; round += 1) state.take([window(source, round)]);
    const { sets, overflow = 0 } = seriesOf(state, 's');
    expect(sets).toBeGreaterThan(20);
    expect(sets).toBeLessThan(33);
    expect(overflow).toBe(100 - sets);
    // What is known goes on.
    state.take([window(source, 1)]);
    expect(seriesOf(state, 's')).toEqual({ sets, overflow });
  });

  test('of all sources together, until one is forgotten', () => {
    const state = new CumulativeState(64 * 1024);
    for (const name of ['a', 'b', 'c']) state.take([window(labelled(name, '1Mi'), 1, 15)]);
    expect(seriesOf(state, 'a')).toEqual({ sets: 15, overflow: undefined });
    expect(seriesOf(state, 'c')).toEqual({ sets: 0, overflow: 15 });
    state.forget('a');
    state.take([window(labelled('d', '1Mi'), 1, 15)]);
    expect(seriesOf(state, 'd')).toEqual({ sets: 15, overflow: undefined });
  });
});
