import { expect, test } from 'vitest';

import { timerMs } from './timer-ms.ts';

test.each([
  [0, 0],
  [0.0001, 1],
  [0.2, 200],
  // Not whole milliseconds in floating point.
  [16.1, 16_100],
  [1.0014, 1001],
  [60, 60_000],
  [30 * 86_400, 2 ** 31 - 1],
  [Number.MAX_VALUE, 2 ** 31 - 1],
])('%d s is %d ms', (seconds, ms) => {
  expect(timerMs(seconds)).toBe(ms);
});
