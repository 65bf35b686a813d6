import { describe, expect, test } from 'vitest';
import { measuredSource } from '../output/testing/measured-source.ts';
import { scheduleOf } from './next-run-time.ts';

const START = new Date('2026-01-01T00:00:00Z');
const schedule = (fields: Record<string, unknown>) => scheduleOf(measuredSource(fields), START);
const at = (milliseconds: number): Date => new Date(START.getTime() + milliseconds);
const since = (date: Date | undefined): number => (date?.getTime() ?? Number.NaN) - START.getTime();

describe('a frequency', () => {
  test('does not drift, and what is late is one tick', () => {
    const { next } = schedule({ frequency: '30s' });
    const first = since(next(START));
    expect(since(next(at(first)))).toBe(first + 30_000);
    expect(since(next(at(first + 12)))).toBe(first + 30_000);
    expect(since(next(at(first - 1)))).toBe(first);
    expect(since(next(at(first + 95_000)))).toBe(first + 120_000);
  });

  test('of a thousand sources: the first ticks are spread, around one period after the start', () => {
    const firsts = Array.from({ length: 1000 }, (_, index) =>
      since(schedule({ name: `s${index}`, frequency: '30s' }).next(START)),
    );
    expect(Math.min(...firsts)).toBeGreaterThanOrEqual(15_000);
    expect(Math.max(...firsts)).toBeLessThan(45_000);
    const perSecond = Map.groupBy(firsts, (time) => Math.floor(time / 1000));
    expect(Math.max(...[...perSecond.values()].map((times) => times.length))).toBeLessThan(70);
  });

  test('a long one keeps its length, give or take half a minute', () => {
    const firsts = Array.from({ length: 100 }, (_, index) =>
      since(schedule({ name: `s${index}`, frequency: '1d' }).next(START)),
    );
    for (const first of firsts) expect(Math.abs(first - 86_400_000)).toBeLessThanOrEqual(30_000);
    expect(new Set(firsts).size).toBeGreaterThan(90);
  });

  test('the same name has the same times', () => {
    expect(since(schedule({ frequency: '1m' }).next(START))).toBe(since(schedule({ frequency: '1m' }).next(START)));
  });

  test('is the period', () => {
    expect(schedule({ frequency: '30s' }).period(START)).toBe(30_000);
  });
});

describe('cron', () => {
  test('overrides the frequency, in UTC', () => {
    const { next, period } = schedule({ frequency: '30s', cron: '15 */6 * * *' });
    expect(next(START)?.toISOString()).toBe('2026-01-01T00:15:00.000Z');
    expect(period(START)).toBe(6 * 3_600_000);
  });

  test('that never comes has no period', () => {
    const { next, period } = schedule({ cron: '0 0 31 2 *' });
    expect([next(START), period(START)]).toEqual([undefined, 0]);
  });
});

test('jitter puts a tick off by up to its time', () => {
  const { delay } = schedule({ jitter: '10s' });
  expect([0, 0.5, 0.99999].map(delay)).toEqual([0, 5000, 9999]);
  expect(schedule({}).delay(0.9)).toBe(0);
});

test('schedules of the same times have the same id', () => {
  expect(schedule({ frequency: '60s' }).id).toBe(schedule({ frequency: '1m' }).id);
  const all = [{}, { frequency: '2m' }, { cron: '* * * * *' }, { jitter: '1s' }].map((fields) => schedule(fields).id);
  expect(new Set(all).size).toBe(4);
});
