import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { throttled } from './throttled.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('runs at once, then at most once in its time, and never loses the last call', () => {
  const run = vi.fn();
  const call = throttled(100, run);
  call();
  expect(run).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 10; i++) call();
  expect(run).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(100);
  expect(run).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(2);
  call();
  expect(run).toHaveBeenCalledTimes(3);
});
