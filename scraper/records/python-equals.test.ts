import { describe, expect, test } from 'vitest';
import { parseJson } from './json-body.ts';
import { pythonEquals } from './python-equals.ts';

const equal = (a: string, b: string): boolean =>
  pythonEquals(parseJson(a, { exact: true }), parseJson(b, { exact: true }));

describe("Python's equality", () => {
  test.each([
    ['1', '1.0'],
    ['true', '1'],
    ['false', '0.0'],
    ['-0.0', '0'],
    ['1e3', '1000'],
    ['100000000000000000001', '100000000000000000001'],
    ['"a"', '"a"'],
    ['null', 'null'],
    ['[1,[true]]', '[1.0,[1]]'],
    ['{"a":1,"b":null}', '{"b":null,"a":1.0}'],
    ['[]', '[]'],
    ['{}', '{}'],
  ])('%s equals %s', (a, b) => {
    expect(equal(a, b)).toBe(true);
    expect(equal(b, a)).toBe(true);
  });

  test.each([
    ['"1"', '1'],
    ['null', '0'],
    ['null', 'false'],
    ['""', 'null'],
    ['[]', '{}'],
    ['[]', 'null'],
    ['[]', 'false'],
    ['[1,2]', '[2,1]'],
    ['[1]', '[1,1]'],
    ['{"a":1}', '{"a":1,"b":null}'],
    ['{"a":null}', '{"b":null}'],
    ['{"a":null}', '{"toString":null}'],
    ['{"__proto__":{}}', '{"a":{}}'],
    ['9007199254740992', '9007199254740993'],
    ['100000000000000000001', '100000000000000000002'],
    ['1.0', '[1.0]'],
    ['NaN', 'NaN'],
  ])('%s does not equal %s', (a, b) => {
    expect(equal(a, b)).toBe(false);
    expect(equal(b, a)).toBe(false);
  });

  test('takes an integer of the configuration beyond 2^53 for any that it may have been', () => {
    expect(pythonEquals(parseJson('12345678901234567890', { exact: true }), Number('12345678901234567890'))).toBe(true);
  });
});
