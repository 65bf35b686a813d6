import { describe, expect, test } from 'vitest';
import { ANSWER_LIMITS, exceeded, JsonLimitError, parseJson, REQUEST_LIMITS } from './json-limits.ts';

const wide = (count: number): string => `[${Array.from({ length: count }, () => '{}').join()}]`;
/** An array of so many values, itself included. */
const values = (count: number): string => `[${'0,'.repeat(count - 2)}0]`;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('T17: values are counted before anything is parsed', () => {
  test('a request of a client has at most 200,000, an answer that is read at most 1,000,000', () => {
    expect(exceeded(values(200_000), REQUEST_LIMITS)).toBeUndefined();
    expect(exceeded(values(200_001), REQUEST_LIMITS)).toBe('values');
    expect(exceeded(values(1_000_000), ANSWER_LIMITS)).toBeUndefined();
    expect(exceeded(values(1_000_001), ANSWER_LIMITS)).toBe('values');
    expect(exceeded(wide(99_000), REQUEST_LIMITS)).toBeUndefined();
    expect(exceeded(wide(200_001), REQUEST_LIMITS)).toBe('values');
  });

  test('levels are counted too, also where they never close', () => {
    expect(exceeded(deep(512), REQUEST_LIMITS)).toBeUndefined();
    expect(exceeded(deep(513), REQUEST_LIMITS)).toBe('depth');
    expect(exceeded('['.repeat(8 << 20), ANSWER_LIMITS)).toBe('depth');
    expect(exceeded('{"a":'.repeat(513), ANSWER_LIMITS)).toBe('depth');
  });

  test.each([
    ['commas and brackets in a string', `["${'{[,'.repeat(100_000)}"]`],
    ['escaped quotes', `["${'\\",'.repeat(300_000)}"]`],
    ['escaped backslashes before the closing quote', `["${'\\\\'.repeat(300_000)}", "${','.repeat(300_000)}"]`],
  ])('%s are no values', (_, text) => {
    JSON.parse(text);
    expect(exceeded(text, REQUEST_LIMITS)).toBeUndefined();
  });

  test.each([
    ['of all kinds', [{ a: [1, '"', { b: null }], '\\': [['x'], { c: '' }] }, 'x,y', -1e3]],
    ['strings', ['a', '', 'b', '\\']],
  ])('as many are counted as JSON.parse makes: %s', (_, value) => {
    const text = JSON.stringify(value);
    let made = 0;
    JSON.parse(text, (_key, one: unknown) => {
      made++;
      return one;
    });
    expect(exceeded(text, { values: made - 1, depth: 512 })).toBe('values');
    expect(exceeded(text, { values: made, depth: 512 })).toBeUndefined();
  });

  test('empty ones are never counted as fewer', () => {
    expect(exceeded('[[],{},[]]', { values: 3, depth: 512 })).toBe('values');
  });

  test.each([
    ['brackets', '[{'.repeat(1 << 19)],
    ['escaped quotes', `"${'\\"'.repeat(1 << 19)}`],
    ['backslashes', `"${'\\'.repeat(1 << 20)}`],
    ['quotes', '"'.repeat(1 << 20)],
    ['empty strings', '"",'.repeat(1 << 19)],
  ])('1 MiB of %s is counted in one pass', (_, text) => {
    const before = process.cpuUsage();
    exceeded(text, { values: Infinity, depth: Infinity });
    const { user, system } = process.cpuUsage(before);
    // Quadratic, it would be minutes.
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  test('the error names the limit, and nothing of the text', () => {
    expect(() => parseJson(wide(200_001), REQUEST_LIMITS)).toThrow(JsonLimitError);
    expect(() => parseJson(wide(200_001), REQUEST_LIMITS)).toThrow('the JSON has more than 200000 values');
    expect(() => parseJson(deep(513), REQUEST_LIMITS)).toThrow('the JSON is nested deeper than 512 levels');
    expect(() => parseJson('{', REQUEST_LIMITS)).toThrow(SyntaxError);
    expect(parseJson('{"a":[1]}', REQUEST_LIMITS)).toEqual({ a: [1] });
  });
});
