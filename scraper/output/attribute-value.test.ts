import { describe, expect, test } from 'vitest';
import { logValue } from './attribute-value.ts';
import { parseJson } from '../records/json-body.ts';

const nested = (depth: number, inner = '1'): string => `${'{"a":['.repeat(depth / 2)}${inner}${']}'.repeat(depth / 2)}`;

/** How deep lists and objects are in each other. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('a value in a log record', () => {
  test('that is as deep as records are stays what it is, and is not copied', () => {
    const value = JSON.parse(nested(24)) as object;
    expect(logValue(value)).toBe(value);
  });

  test.each([26, 100, 2000])('of %i levels becomes text where it is too deep for OTLP', (depth) => {
    const value: unknown = JSON.parse(nested(depth));
    const result = logValue(value);
    expect(depthOf(result)).toBe(25);
    expect(JSON.stringify(result)).toContain(String.raw`[1]`);
    expect(depthOf(value)).toBe(depth);
  });

  test('keeps the digits of its numbers there', () => {
    const value = parseJson(nested(26, '12345678901234567890'), { exact: true });
    expect(JSON.stringify(logValue(value))).toContain('12345678901234567890');
  });
});
