import { describe, expect, test } from 'vitest';
import { formatTime } from './strftime.ts';
import { compileTimePattern, parseIsoTime } from './strptime.ts';

const DEFAULT = '%Y-%m-%dT%H:%M:%S%z';

/** In ISO 8601; undefined where the text does not fit. */
function read(text: string, pattern: string): string | undefined {
  const time = compileTimePattern(pattern)(text);
  return time === undefined ? undefined : formatTime(time, '');
}

describe('the vectors of the original', () => {
  test.each([
    ['2025-01-01T02:00:00+02:00', DEFAULT, '2025-01-01T00:00:00+00:00'],
    ['2025-01-01T00:00:00Z', DEFAULT, '2025-01-01T00:00:00+00:00'],
    ['2025-01-01T00:00:00+0000', DEFAULT, '2025-01-01T00:00:00+00:00'],
    ['2025-01-01', DEFAULT, undefined],
    ['2025-01-01T00:00:00.5Z', DEFAULT, undefined],
  ])('%s with %s', (text, pattern, time) => {
    expect(read(text, pattern)).toBe(time);
  });
});

// Read by Python 3.11.
test.each([
  ['2025-01-01T00:00:00 Z', '%Y-%m-%dT%H:%M:%S %z', '2025-01-01T00:00:00+00:00'],
  ['Fri Nov 28 10:15:00 2025', '%c', '2025-11-28T10:15:00+00:00'],
  ['28/nov/2025:10:15:00 +0530', '%d/%b/%Y:%H:%M:%S %z', '2025-11-28T04:45:00+00:00'],
  ['5 1 24', '%d %m %y', '2024-01-05T00:00:00+00:00'],
  ['1 1 69', '%d %m %y', '1969-01-01T00:00:00+00:00'],
  ['12 AM 1 1 2024', '%I %p %d %m %Y', '2024-01-01T00:00:00+00:00'],
  ['12 pm 1 January 2024', '%I %p %d %B %Y', '2024-01-01T12:00:00+00:00'],
  ['2024 366', '%Y %j', '2024-12-31T00:00:00+00:00'],
  ['2025 366', '%Y %j', undefined],
  ['2025-02-30', '%Y-%m-%d', undefined],
  ['2024 W10 1', '%G W%V %u', '2024-03-04T00:00:00+00:00'],
  ['2025 10 1', '%Y %W %w', '2025-03-10T00:00:00+00:00'],
  ['23:59:60 2024', '%H:%M:%S %Y', undefined],
  ['1e', '%f', undefined],
  ['2025-01-01  x', '%Y-%m-%d x', '2025-01-01T00:00:00+00:00'],
  ['10:15', '%H:%M', '1900-01-01T10:15:00+00:00'],
  ['2025-01-01T00:00:00+00:00:30', DEFAULT, '2024-12-31T23:59:30+00:00'],
  ['2025-1-1 UTC', '%Y-%m-%d %Z', '2025-01-01T00:00:00+00:00'],
  ['2025-01-01 00:00:00.000007', '%F %T.%f', '2025-01-01T00:00:00.000007+00:00'],
  ['100% (2025)', '100%% (%Y)', '2025-01-01T00:00:00+00:00'],
])('%j with %j', (text, pattern, time) => {
  expect(read(text, pattern)).toBe(time);
});

test('seconds since 1970, which Python cannot read, and nanoseconds', () => {
  expect(read('1764324900', '%s')).toBe('2025-11-28T10:15:00+00:00');
  expect(compileTimePattern('%s.%f')('1764324900.123456789')).toBe(1_764_324_900_123_456_789n);
});

test.each([
  ['1764324900', 'unix', 1_764_324_900_000_000_000n],
  ['1764324900.5', 'unix', 1_764_324_900_500_000_000n],
  ['-1.5', 'unix', -1_500_000_000n],
  ['1764324900123', 'unix_ms', 1_764_324_900_123_000_000n],
  ['1764324900123.25', 'unix_ms', 1_764_324_900_123_250_000n],
  ['1764324900123456', 'unix_us', 1_764_324_900_123_456_000n],
  ['1764324900123456789', 'unix_ns', 1_764_324_900_123_456_789n],
  ['1e9', 'unix', undefined],
  ['', 'unix', undefined],
])('%s as %s', (text, pattern, time) => {
  expect(compileTimePattern(pattern)(text)).toBe(time);
});

test.each([
  ['2025-01-01', '2025-01-01T00:00:00+00:00'],
  ['20250101T101500Z', '2025-01-01T10:15:00+00:00'],
  ['2025-01-01T10:15', '2025-01-01T10:15:00+00:00'],
  ['2025-01-01 10:15:00.5', '2025-01-01T10:15:00.500000+00:00'],
  ['2025-01-01t10:15:00,123456789z', '2025-01-01T10:15:00.123456+00:00'],
  ['2025-01-01T10:15:00-05', '2025-01-01T15:15:00+00:00'],
  ['2025-01-01T10:15:00+05:30', '2025-01-01T04:45:00+00:00'],
  ['2025-01-31T10:15:00.1Z', '2025-01-31T10:15:00.100000+00:00'],
  ['2024-02-29T23:59:59.999999Z', '2024-02-29T23:59:59.999999+00:00'],
  ['2025-02-29T00:00:00Z', undefined],
  ['2025-00-10T00:00:00Z', undefined],
  ['2025-01-00T00:00:00Z', undefined],
  ['2025-01-01T24:00:00Z', undefined],
  ['2025-01-01T00:60:00Z', undefined],
  ['2025-01-01T00:00:60Z', undefined],
  ['2025-01-01T00:00:00.Z', undefined],
  ['2025-01-01T00:00:00.1x2Z', undefined],
  ['2025-01-0aT00:00:00Z', undefined],
  ['2025-01-01T00:00:00.1234567891234Z', '2025-01-01T00:00:00.123456+00:00'],
  ['0050-01-01T00:00:00Z', '50-01-01T00:00:00+00:00'],
  ['2025-13-01', undefined],
  ['2025-02-29', undefined],
  ['2025-01-01T25:00:00Z', undefined],
  ['1764324900', undefined],
  ['soon', undefined],
])('ISO 8601: %s', (text, time) => {
  const found = parseIsoTime(text);
  expect(found === undefined ? undefined : formatTime(found, '')).toBe(time);
});

test('every digit of a fraction counts, whatever the offset', () => {
  const start = 1_735_689_600_000_000_000n;
  for (const [fraction, nanoseconds] of [
    ['.1', 100_000_000n],
    ['.123456789', 123_456_789n],
    ['.000000001', 1n],
    ['', 0n],
  ] as const) {
    expect(parseIsoTime(`2025-01-01T00:00:00${fraction}Z`)).toBe(start + nanoseconds);
    expect(parseIsoTime(`2025-01-01T01:00:00${fraction}+01:00`)).toBe(start + nanoseconds);
  }
});

test('a pattern that cannot be read says so', () => {
  expect(() => compileTimePattern('%Q')).toThrow('%Q cannot be read');
  expect(() => compileTimePattern('%F %d')).toThrow('%d stands twice');
});
