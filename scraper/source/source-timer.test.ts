import { describe, expect, test } from 'vitest';
import { measuredSource } from '../output/testing/measured-source.ts';
import { Scheduler } from './scheduler.ts';
import { SourceTimer } from './source-timer.ts';

const START = new Date('2026-01-01T00:00:00Z');
const seconds = (count: number): Date => new Date(START.getTime() + count * 1000);

/** A timer whose clock stands still, so that nothing ever runs. */
function timer(fields: Record<string, unknown> = {}, random = 0): SourceTimer {
  const scheduler = new Scheduler(() => START.getTime());
  return new SourceTimer(
    measuredSource({ frequency: '1h', ...fields }),
    {
      scheduler,
      now: () => START,
      random: () => random,
    },
    () => undefined,
  );
}

describe('when a source runs next', () => {
  test('at once when it is this pod’s, put off by jitter', () => {
    const [one, late] = [timer(), timer({ jitter: '10s' }, 0.5)];
    expect(one.nextRun).toBeUndefined();
    one.begin();
    late.begin();
    expect(one.nextRun).toEqual(START);
    expect(late.nextRun).toEqual(seconds(5));
  });

  test('earlier for a window that waits, at the earliest of its times', () => {
    const one = timer({ jitter: '60s' }, 0.999);
    one.begin();
    for (const [asked, next] of [
      [30, 30],
      [20, 20],
      [40, 20],
    ] as const) {
      one.wakeAt(seconds(asked));
      expect(one.nextRun).toEqual(seconds(next));
    }
  });

  test('at once, put off by jitter, also when its schedule changes meanwhile', () => {
    const one = timer({ jitter: '60s' }, 0.5);
    one.begin();
    one.replace(measuredSource({ frequency: '1d', jitter: '60s' }));
    expect(one.nextRun).toEqual(seconds(30));
  });

  test('never when its schedule has no time any more', () => {
    const one = timer();
    one.enable();
    one.replace(measuredSource({ frequency: '2h' }));
    expect(one.nextRun).toBeDefined();
    one.replace(measuredSource({ frequency: undefined, cron: '0 0 30 2 *' }));
    expect(one.nextRun).toBeUndefined();
  });

  test('never when it is another pod’s', () => {
    const one = timer();
    one.begin();
    one.wakeAt(seconds(1));
    one.end();
    expect(one.nextRun).toBeUndefined();
    one.replace(measuredSource({ frequency: '2h' }));
    expect(one.nextRun).toBeUndefined();
  });
});

test.each([
  [{ frequency: '1h' }, 3_600],
  [{ frequency: undefined, cron: '0 3 * * *' }, 3 * 3_600],
])('when the clock is set back, %j is counted from the time that it is now', (fields, next) => {
  let now = seconds(86_400 + 4 * 3_600);
  const scheduler = new Scheduler(() => now.getTime());
  const one = new SourceTimer(measuredSource(fields), { scheduler, now: () => now, random: () => 0 }, () => undefined);
  one.begin();
  now = START;
  one.clockSetBack();
  expect(Math.abs((one.nextRun?.getTime() ?? 0) - seconds(next).getTime())).toBeLessThanOrEqual(30_000);
  one.end();
  one.clockSetBack();
  expect(one.nextRun).toBeUndefined();
});
