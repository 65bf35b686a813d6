import { describe, expect, test } from 'vitest';
import { backoff, type FailedAttempt, nextAttempt } from './backoff.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const RETRY = { maxAttempts: 5, initialDelay: 1000, maxDelay: 60_000 };
const FAILED: FailedAttempt = { attempts: 1, inTotal: 1, isCollectors: false, retryAfterMs: undefined };

const waitAfter = (failure: Partial<FailedAttempt>, random = 1): number => {
  const next = nextAttempt({ ...FAILED, ...failure }, RETRY, NOW, random);
  return next === 'dead' ? Number.NaN : next.getTime() - NOW.getTime();
};

describe('the wait before the next attempt', () => {
  test('doubles up to the longest, whatever the number of failures', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 2000].map((failures) => backoff(failures, 1000, 60_000, 1));
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('varies between nothing and all of it', () => {
    expect([0, 0.25, 1].map((random) => waitAfter({ attempts: 3, inTotal: 3 }, random))).toEqual([0, 1000, 4000]);
  });

  test('is never shorter than what the other side asks for', () => {
    expect(waitAfter({ retryAfterMs: 90_000 })).toBe(90_000);
    expect(waitAfter({ retryAfterMs: 90_000 }, 0)).toBe(90_000);
    expect(waitAfter({ retryAfterMs: 10 })).toBe(1000);
  });

  test('is a day at most', () => {
    expect(waitAfter({ retryAfterMs: 1e15 })).toBe(86_400_000);
  });
});

describe('giving up', () => {
  test('after the last attempt', () => {
    expect(waitAfter({ attempts: 4, inTotal: 4 })).toBe(8000);
    expect(waitAfter({ attempts: 5, inTotal: 5 })).toBeNaN();
  });

  test('never because of the collector, whose failures do not count for the window', () => {
    expect(waitAfter({ attempts: 1, inTotal: 50, isCollectors: true })).toBe(60_000);
    expect(waitAfter({ attempts: 9, inTotal: 50, isCollectors: true })).toBe(60_000);
    expect(waitAfter({ attempts: 4, inTotal: 50 })).toBe(60_000);
  });
});
