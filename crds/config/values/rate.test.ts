import { expect, test } from 'vitest';

import { parseRate, rate } from './rate.ts';

test.each([
  ['1/s', 1, 1_000],
  ['100/min', 100, 60_000],
  [' 99999/h ', 99_999, 3_600_000],
])('%j is a rate', (text, count, periodMs) => {
  expect(parseRate(text)).toEqual({ count, periodMs });
  expect(rate().parse(text)).toBe(text.trim());
});

test.each(['', '100', '0/s', '01/s', '1.5/s', '-1/s', '100000/h', '1/m', '1/d', '1/S', '1 / s', '/s', '1/s x'])(
  '%j is none',
  (text) => {
    expect(parseRate(text)).toBeUndefined();
    expect(rate().safeParse(text).success).toBe(false);
  },
);
