import { describe, expect, test } from 'vitest';
import { compileReadings } from './compile-readings.ts';
import { Contribution } from './contribution.ts';
import { CumulativeState } from './cumulative-state.ts';
import { PointTimes } from './point-times.ts';
import { measuredSource } from './testing/measured-source.ts';

const seconds = (count: number): bigint => BigInt(count) * 1_000_000_000n;
const BEGUN = 10_000;
const NOW = 10_100;

interface Told {
  readonly name: string;
  readonly value: number;
  /** From when to when, in seconds. */
  readonly time: readonly [number, number];
}

/** A source, and what is told of its windows. */
function told(pointTime: 'record' | 'window' | 'scrape', isDelta = false) {
  const source = measuredSource({
    scrape: { type: 'range', rangeKeys: { startKey: 'a', endKey: 'b' } },
    gaugeReadings: [{ name: 'g', dataKey: 'v' }],
    counterReadings: [{ name: 'c', dataKey: 'v' }],
    attributes: [{ name: 'a', dataKey: 'a' }],
    timestampKey: 'at',
    pointTime,
  });
  const state = new CumulativeState();
  const times = new PointTimes(seconds(BEGUN), () => isDelta);
  const shown = ({ metric, total, added, time }: ReturnType<PointTimes['timed']>[number]): Told => ({
    name: metric.name,
    value: isDelta ? added.value : total.value,
    time: [Number(time.start) / 1e9, Number(time.end) / 1e9],
  });
  const window = (start: number, end: number, ...records: readonly object[]): Contribution => {
    const into = new Contribution(pointTime === 'scrape' ? undefined : { start: seconds(start), end: seconds(end) });
    compileReadings(source, () => undefined)(records, {}, into, { observed: seconds(NOW) });
    return into;
  };
  const inDoubt = (now: number, ...windows: readonly Contribution[]): Told[] => {
    const points = times.of(state.preview(windows), seconds(now));
    times.exported(points);
    return points.map(shown);
  };
  const exported = (now: number, ...windows: readonly Contribution[]): Told[] => {
    const points = inDoubt(now, ...windows);
    state.take(windows);
    times.sent(seconds(now));
    return points;
  };
  const timed = (now: number): Told[] => {
    const points = times.timed(state.all(), seconds(now));
    times.exported(points);
    return points.map(shown);
  };
  const restart = (): void => {
    state.forget('s');
    times.restart('s', seconds(NOW));
  };
  const of = (name: string, all: readonly Told[]) => all.filter((one) => one.name === name).map(({ time }) => time);
  return { window, exported, inDoubt, timed, restart, of, state };
}

describe('a gauge', () => {
  test.each(['window', 'record'] as const)('with %s is as old as its latest record', (mode) => {
    const { window, exported } = told(mode);
    const all = exported(NOW, window(0, 60, { v: 2, at: 50 }, { v: 1, at: 10 }));
    expect(all[0]).toEqual({ name: 'g', value: 2, time: [50, 50] });
  });

  test('without the time of a record is at the end of its window', () => {
    const { window, exported } = told('window');
    expect(exported(NOW, window(0, 60, { v: 2 }))[0]?.time).toEqual([60, 60]);
  });

  test('with scrape is as old as its export, and has the last value', () => {
    const { window, exported } = told('scrape');
    const all = exported(NOW, window(0, 60, { v: 2, at: 50 }, { v: 1, at: 10 }));
    expect(all[0]).toEqual({ name: 'g', value: 1, time: [BEGUN, NOW] });
  });

  test('keeps all digits of its time', () => {
    const { window, state } = told('window');
    const [point] = state.preview([window(0, 2e9, { v: 2, at: '1767225600.123' })]);
    expect(point?.total.at).toBe(1_767_225_600_123_000_000n);
  });
});

describe('what is added', () => {
  test('is of its window, one point for each, whatever order they come in', () => {
    const { window, exported } = told('window', true);
    const all = exported(NOW, window(60, 120, { v: 2 }), window(0, 60, { v: 1 }));
    expect(all.filter(({ name }) => name === 'c')).toEqual([
      { name: 'c', value: 1, time: [0, 60] },
      { name: 'c', value: 2, time: [60, 120] },
    ]);
  });

  test('with record ends with its latest record, in its window', () => {
    const { window, exported, of } = told('record', true);
    const all = exported(
      NOW,
      window(0, 60, { v: 2, at: 50 }, { v: 1, at: 10 }),
      window(60, 120, { v: 1, at: 500 }),
      window(120, 180, { v: 1, at: 5 }),
    );
    expect(of('c', all)).toEqual([
      [0, 50],
      [60, 120],
      [120, 180],
    ]);
  });

  test('with scrape is since the last export', () => {
    const { window, exported, of } = told('scrape', true);
    expect(of('c', exported(NOW, window(0, 60, { v: 1 })))).toEqual([[BEGUN, NOW]]);
    expect(of('c', exported(NOW + 5, window(0, 60, { v: 1 })))).toEqual([[NOW, NOW + 5]]);
  });
});

describe('sums since a start', () => {
  test('of the past are in the past, keep their start, and add up window by window', () => {
    const { window, exported } = told('window');
    const first = exported(NOW, window(60, 120, { v: 2 }), window(0, 60, { v: 1 }));
    expect(first.filter(({ name }) => name === 'c')).toEqual([
      { name: 'c', value: 1, time: [0, 60] },
      { name: 'c', value: 3, time: [0, 120] },
    ]);
    expect(exported(NOW, window(120, 180, { v: 4 }))[1]).toEqual({ name: 'c', value: 7, time: [0, 180] });
  });

  test('never go back: what comes late is just behind the latest', () => {
    const { window, exported, of } = told('window');
    exported(NOW, window(60, 120, { v: 2 }));
    expect(of('c', exported(NOW, window(0, 60, { v: 1 })))).toEqual([[60, 120.001]]);
    expect(of('c', exported(NOW, window(0, 60, { v: 1, a: 'another series' })))).toEqual([[0, 60]]);
  });

  test('of windows that are tried again stand behind all that may have arrived, and do not fall', () => {
    const { window, inDoubt } = told('window');
    const [first, second, third] = [window(0, 60, { v: 1 }), window(60, 120, { v: 2 }), window(120, 180, { v: 4 })];
    const sums = (all: readonly Told[]) =>
      all.filter(({ name }) => name === 'c').map(({ value, time }) => [value, time[1]]);
    expect(sums(inDoubt(NOW, first, second))).toEqual([
      [1, 60],
      [3, 120],
    ]);
    expect(sums(inDoubt(NOW, first, second))).toEqual([[3, 120.001]]);
    expect(sums(inDoubt(NOW, first, second, third))).toEqual([
      [3, 120.002],
      [7, 180],
    ]);
  });

  test('of windows of now begin with the program', () => {
    const { window, exported, of } = told('window');
    expect(of('c', exported(NOW, window(BEGUN - 5, NOW, { v: 1 })))).toEqual([[BEGUN, NOW]]);
  });

  test('hold until now when nothing comes any more, and until the latest window while windows come', () => {
    const { window, exported, timed, of } = told('window');
    exported(NOW, window(0, 60, { v: 1, a: 'x' }));
    exported(NOW, window(60, 120, { v: 1, a: 'y' }));
    expect(timed(NOW).map(({ time }) => time[1])).toEqual([120, 120]);
    expect(of('c', exported(NOW, window(120, 180, { v: 1, a: 'x' })))).toEqual([[0, 180]]);
    timed(NOW);
    expect(timed(NOW + 60).map(({ time }) => time[1])).toEqual([NOW + 60, NOW + 60]);
  });

  test('never go back when they hold, also after a window that ends later than now', () => {
    const { window, exported, timed } = told('window');
    exported(NOW, window(NOW - 30, NOW + 30, { v: 1 }));
    timed(NOW);
    expect(timed(NOW).map(({ time }) => time[1])).toEqual([NOW + 30]);
  });

  test('that begin anew do so behind all that was told', () => {
    const { window, exported, restart, of } = told('window');
    exported(NOW, window(0, 60, { v: 1 }));
    restart();
    expect(of('c', exported(NOW, window(0, 60, { v: 1 })))).toEqual([[60, 60.001]]);
    expect(of('c', exported(NOW, window(60, 120, { v: 1 })))).toEqual([[60, 120]]);
  });
});
