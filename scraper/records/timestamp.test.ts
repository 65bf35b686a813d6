import { describe, expect, test } from 'vitest';
import { InvalidSetting } from './invalid-setting.ts';
import { parseJson } from './json-body.ts';
import { compileRecordTime } from './timestamp.ts';

const NOON = 1_764_324_900_000_000_000n; // 2025-11-28T10:15:00Z

const timeOf = (format: string | null, json: string): bigint | undefined =>
  compileRecordTime(format)(parseJson(json, { exact: true }));

describe('the time of a record', () => {
  test.each<[string | null, string, bigint]>([
    [null, '"2025-11-28T10:15:00Z"', NOON],
    [null, '"2025-11-28T12:15:00+02:00"', NOON],
    [null, '"2025-11-28T10:15:00"', NOON],
    [null, '"2025-11-28 10:15:00.123456789Z"', NOON + 123_456_789n],
    [null, '1764324900', NOON],
    [null, '"1764324900"', NOON],
    [null, '1764324900.5', NOON + 500_000_000n],
    [null, '1764324900.123456789', NOON + 123_456_700n], // as far as a double goes
    [null, '"1764324900.123456789"', NOON + 123_456_789n],
    [null, '1764324900.0', NOON],
    [null, '1.7643249e9', NOON],
    ['', '"2025-11-28T10:15:00Z"', NOON],
    ['', '1764324900', NOON],
    ['unix', '1764324900', NOON],
    ['unix_ms', '1764324900123', NOON + 123_000_000n],
    ['unix_ms', '"1764324900123"', NOON + 123_000_000n],
    ['unix_us', '1764324900123456', NOON + 123_456_000n],
    ['unix_ns', '1764324900123456789', NOON + 123_456_789n],
    ['%d/%m/%Y %H:%M', '"28/11/2025 10:15"', NOON],
    ['%Y-%m-%dT%H:%M:%S.%f%z', '"2025-11-28T10:15:00.123456+0000"', NOON + 123_456_000n],
    ['%Y%m%d', '20251128', NOON - 36_900_000_000_000n],
  ])('in the format %j is read from %s', (format, json, time) => {
    expect(timeOf(format, json)).toBe(time);
  });

  test.each<[string | null, string]>([
    [null, 'null'],
    [null, 'true'],
    [null, '[]'],
    [null, '{}'],
    [null, '""'],
    [null, '"yesterday"'],
    [null, '"2025-13-01"'],
    [null, '0'],
    [null, '-5'],
    [null, '"1969-12-31T23:59:59Z"'],
    [null, '1764324900123456'],
    [null, 'NaN'],
    [null, '1e300'],
    ['unix_ms', '"2025-11-28"'],
    ['%Y', '"abc"'],
  ])('in the format %j is unknown with %s', (format, json) => {
    expect(timeOf(format, json)).toBeUndefined();
  });

  test('in a format that cannot be read is a problem of the configuration', () => {
    expect(() => compileRecordTime('%Q')).toThrow(InvalidSetting);
    expect(() => compileRecordTime('%Q')).toThrow(/^timestampFormat: /);
  });
});
