import { describe, expect, test } from 'vitest';

import { moved, waitUs } from './gcra.ts';

const MINUTE_US = 60_000_000;
/** Some time of 2026, in microseconds. */
const T = 1_790_000_000_000_000;

/** A bucket that takes one call at a time; returns how long it would have to wait. */
function bucket(count: number, periodUs: number, burst = count) {
  let free = 0;
  const rate = { per: 'server' as const, key: '', intervalUs: Math.ceil(periodUs / count), burst, calls: 1 };
  const take = (nowUs: number, calls = 1): number => {
    const taking = { ...rate, calls };
    const next = moved(free, nowUs, taking);
    const wait = waitUs(next, nowUs, taking);
    if (wait === 0) free = next;
    return wait;
  };
  return { rate, take };
}

/** Numbers from 0 to 1 that look like chance, and are the same each time. */
function* chance(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

describe('a rate', () => {
  test('admits its burst at once and then one call for each interval', () => {
    const { take, rate } = bucket(100, MINUTE_US);
    for (let n = 0; n < 100; n += 1) expect(take(T)).toBe(0);
    expect(take(T)).toBe(rate.intervalUs);
    expect(take(T + rate.intervalUs - 1)).toBe(1);
    expect(take(T + rate.intervalUs)).toBe(0);
    expect(take(T + rate.intervalUs)).toBe(rate.intervalUs);
  });

  test('is as good as new after a pause, and no better', () => {
    const { take } = bucket(10, MINUTE_US, 3);
    for (const now of [T, T + MINUTE_US, T + 100 * MINUTE_US]) {
      expect([take(now), take(now), take(now)]).toEqual([0, 0, 0]);
      expect(take(now)).toBe(6_000_000);
    }
  });

  test('takes calls that come together whole or not at all', () => {
    const { take } = bucket(10, MINUTE_US, 5);
    expect(take(T, 3)).toBe(0);
    expect(take(T, 3)).toBe(6_000_000);
    expect(take(T, 2)).toBe(0);
    expect(take(T, 1)).toBe(6_000_000);
  });

  test('is not turned back by a clock that is behind', () => {
    const { take } = bucket(10, MINUTE_US, 1);
    expect(take(T)).toBe(0);
    expect(take(T - 1_000_000)).toBe(7_000_000);
  });

  const rates = [1, 3, 7, 100, 99_999].flatMap((count) =>
    [1_000_000, MINUTE_US, 60 * MINUTE_US].flatMap((periodUs) =>
      [1, 2, 13, 100].map((burst) => ({ count, periodUs, burst })),
    ),
  );
  test.each(rates)('$count in $periodUs with burst $burst admits burst + rate × time, and waiting helps', (of) => {
    const { take, rate } = bucket(of.count, of.periodUs, of.burst);
    const random = chance(of.count + of.burst);
    const admitted: number[] = [];
    let now = T;
    for (let n = 0; n < 600; n += 1) {
      // Crowds, and gaps of up to four bursts.
      if (random.next().value < 0.3) now += Math.floor(random.next().value * 4 * of.burst * rate.intervalUs);
      const wait = take(now);
      if (wait > 0 && random.next().value < 0.2) {
        expect(take(now + wait - 1)).toBe(1);
        now += wait;
        expect(take(now)).toBe(0);
        admitted.push(now);
      } else if (wait === 0) admitted.push(now);
    }
    expect(admitted.length).toBeGreaterThan(of.burst);
    for (const [from, begin] of admitted.entries()) {
      for (let to = from; to < admitted.length; to += 1) {
        const time = (admitted[to] ?? 0) - begin;
        const most = of.burst + Math.floor(time / rate.intervalUs);
        if (to - from + 1 > most) expect.fail(`${to - from + 1} in ${time} µs, of ${most}`);
      }
    }
  });
});
