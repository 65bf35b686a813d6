import { expect, test } from 'vitest';
import { retryAfter } from './retry-after.ts';

const NOW = new Date('1994-11-06T08:49:00Z');

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  ['1.5', 1500],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
  ['Sun Nov  6 08:49:37 1994', 37_000],
  ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ['-5', undefined],
  ['soon', undefined],
  ['2', 2000],
  ['', undefined],
  ['99999999999999', undefined],
])('Retry-After: %j', (header, milliseconds) => {
  expect(retryAfter(header, NOW)).toBe(milliseconds);
});

test('none, or several', () => {
  expect(retryAfter(undefined, NOW)).toBeUndefined();
  expect(retryAfter(['3', '4'], NOW)).toBe(3000);
});
