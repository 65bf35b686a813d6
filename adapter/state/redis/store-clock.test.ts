import { afterEach, describe, expect, test, vi } from 'vitest';
import { betterReading, StoreClock } from './store-clock.ts';

const MINUTE = 60_000;
const T = 1_800_000_000_000;

afterEach(() => void vi.useRealTimers());

describe('M5: the clock of the store', () => {
  test('is that of the replica before it was read', () => {
    vi.useFakeTimers({ now: T });
    expect(new StoreClock().now()).toBe(T);
  });

  test('does not follow a replica whose clock is set', async () => {
    vi.useFakeTimers({ now: T });
    const clock = new StoreClock();
    await clock.measure(async () => T - 10 * MINUTE);
    expect(clock.now()).toBe(T - 10 * MINUTE);
    vi.setSystemTime(T + 60 * MINUTE);
    expect(clock.now()).toBe(T - 10 * MINUTE);
    vi.advanceTimersByTime(MINUTE);
    expect(clock.now()).toBe(T - 9 * MINUTE);
  });

  test('a difference of more than 5 s is told of, once, and its end', async () => {
    vi.useFakeTimers({ now: T });
    const told: string[] = [];
    const clock = new StoreClock((message) => told.push(message));
    for (const time of [T - 5_000, T - 5_001, T - 6_000, T]) await clock.measure(async () => time);
    expect(told).toEqual([
      'the clock of this replica differs from that of the state store by 5001 ms; it cleans nothing up',
      'the clock of this replica agrees with that of the state store again',
    ]);
  });

  test('a reading that took long counts for less, as far as it is not another time', () => {
    const exact = { at: 0, time: T, errorMs: 1 };
    const slow = { at: 1_000, time: T + 1_400, errorMs: 500 };
    const set = { at: 1_000, time: T + 9_000, errorMs: 500 };
    expect(betterReading(undefined, slow)).toBe(slow);
    expect(betterReading(exact, slow)).toBe(exact);
    expect(betterReading(exact, set)).toBe(set);
    // What drifts is known less well the longer ago it was read.
    expect(betterReading({ ...exact, at: -1_200_000, time: T - 1_200_000 }, slow)).toBe(slow);
  });

  test('a reading that took long says nothing of a small difference', async () => {
    vi.useFakeTimers({ now: T });
    const clock = new StoreClock();
    await clock.measure(async () => {
      vi.advanceTimersByTime(4_000);
      return T - 4_000;
    });
    expect(clock.status()).toEqual({ aheadMs: 6_000, differs: false });
  });
});
