import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { KeepAlive } from './keep-alive.ts';

describe('keep-alive', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  test('asks every open stream twice in 15 seconds, until it is stopped', () => {
    const keepAlive = new KeepAlive();
    const a = { keepAlive: vi.fn() };
    const b = { keepAlive: vi.fn() };
    keepAlive.add(a);
    keepAlive.add(b);
    vi.advanceTimersByTime(15_000);
    keepAlive.delete(b);
    vi.advanceTimersByTime(7_500);
    expect([a.keepAlive.mock.calls.length, b.keepAlive.mock.calls.length]).toEqual([3, 2]);
    keepAlive.stop();
    vi.advanceTimersByTime(60_000);
    expect(a.keepAlive).toHaveBeenCalledTimes(3);
  });

  test('does not stumble over a stream that leaves while it is asked', () => {
    const keepAlive = new KeepAlive();
    const last = { keepAlive: vi.fn() };
    const leaving = { keepAlive: vi.fn(() => keepAlive.delete(leaving)) };
    keepAlive.add(leaving);
    keepAlive.add(last);
    vi.advanceTimersByTime(15_000);
    expect([leaving.keepAlive.mock.calls.length, last.keepAlive.mock.calls.length]).toEqual([1, 2]);
    keepAlive.stop();
  });
});
