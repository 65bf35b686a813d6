import { describe, expect, test } from 'vitest';
import { measuredSource } from './output/testing/measured-source.ts';
import { json } from './requests/testing/test-server.ts';
import { Scheduler } from './scheduler.ts';
import { SourceEntry } from './source-entry.ts';
import { PERIOD_MS, RunnerKit } from './testing/runner-kit.ts';

const START = new Date('2026-01-01T00:00:00Z');
const seconds = (count: number): Date => new Date(START.getTime() + count * 1000);

/** An entry whose clock stands still, so that nothing ever runs. */
function entry(fields: Record<string, unknown> = {}, random = 0): SourceEntry {
  const scheduler = new Scheduler(() => START.getTime());
  return new SourceEntry(measuredSource({ frequency: '1h', ...fields }), {
    scheduler,
    now: () => START,
    random: () => random,
  });
}

describe('when a source runs next', () => {
  test('at once when it is this pod’s, put off by jitter', () => {
    const [one, late] = [entry(), entry({ jitter: '10s' }, 0.5)];
    expect(one.status()).toMatchObject({ owner: false, nextRun: undefined });
    one.begin();
    late.begin();
    expect(one.status()).toMatchObject({ owner: true, nextRun: START });
    expect(late.status().nextRun).toEqual(seconds(5));
  });

  test('earlier for a window that waits, at the earliest of its times', () => {
    const one = entry({ jitter: '60s' }, 0.999);
    one.begin();
    for (const [asked, next] of [
      [30, 30],
      [20, 20],
      [40, 20],
    ] as const) {
      one.wakeAt(seconds(asked));
      expect(one.status().nextRun).toEqual(seconds(next));
    }
  });

  test('never when it is another pod’s', () => {
    const one = entry();
    one.begin();
    one.wakeAt(seconds(1));
    one.end();
    expect(one.status()).toMatchObject({ owner: false, nextRun: undefined });
    one.replace(measuredSource({ frequency: '2h' }));
    expect(one.status().nextRun).toBeUndefined();
  });
});

test.each([
  [{ frequency: '1h' }, 3_600],
  [{ frequency: undefined, cron: '0 3 * * *' }, 3 * 3_600],
])('when the clock is set back, %j is counted from the time that it is now', (fields, next) => {
  let now = seconds(86_400 + 4 * 3_600);
  const scheduler = new Scheduler(() => now.getTime());
  const one = new SourceEntry(measuredSource(fields), { scheduler, now: () => now, random: () => 0 });
  one.begin();
  now = START;
  one.clockSetBack();
  expect(Math.abs((one.status().nextRun?.getTime() ?? 0) - seconds(next).getTime())).toBeLessThanOrEqual(30_000);
  one.end();
  one.clockSetBack();
  expect(one.status().nextRun).toBeUndefined();
});

test('what failed here is no news any more when it is another pod’s', async () => {
  await using kit = await RunnerKit.start();
  kit.api.answer = json({}, 500);
  await kit.runner.run('first');
  kit.pass(PERIOD_MS);
  await kit.runner.run('schedule');
  const one = entry();
  one.runner = kit.runner;
  one.take();
  expect(one.status()).toMatchObject({ lastError: expect.stringContaining('answered 500'), openWindows: 1 });
  one.end();
  expect(one.status()).toMatchObject({ lastError: undefined, openWindows: 0, deadWindows: 0 });
  expect(one.status().lastRun).toBeDefined();
});

test('why it cannot run is its error', () => {
  const one = entry();
  one.unusable = 'dataKey: is nothing';
  expect(one.status()).toMatchObject({ unusable: 'dataKey: is nothing', lastError: 'dataKey: is nothing' });
});

test('only a range has a watermark', () => {
  expect(entry().status().watermark).toBeUndefined();
});
