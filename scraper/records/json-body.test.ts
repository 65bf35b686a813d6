import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { parseJson } from './json-body.ts';

const exactly = (text: string): unknown => parseJson(text, { exact: true });

describe('an answer that is parsed exactly', () => {
  test.each([
    '1.0',
    '1.00',
    '-0.0',
    '1e3',
    '1E3',
    '1.50e1',
    '9007199254740992',
    '12345678901234567890',
    '-9007199254740993',
    '1e22',
  ])('keeps %s as it was written', (text) => {
    expect(exactly(text)).toEqual(new ExactNumber(text));
    expect(exactly(`{"a":[ ${text} ]}`)).toEqual({ a: [new ExactNumber(text)] });
    expect(JSON.stringify(exactly(`[${text}]`))).toBe(`[${text}]`);
  });

  test('keeps an integer of more digits than a double has', () => {
    const digits = '1'.repeat(400);
    expect(JSON.stringify(exactly(`[${digits}]`))).toBe(`[${digits}]`);
  });

  test.each<[string, number]>([
    ['1', 1],
    ['-1', -1],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['1764324900123456', 1_764_324_900_123_456],
    ['0.1', 0.1],
    ['0.1234567890123456', 0.1234567890123456],
    ['1.50', 1.5],
    ['1e-7', 1e-7],
    ['1e400', Infinity],
  ])('has a plain number where a double tells all: %s', (text, number) => {
    expect(exactly(`[${text},1.0]`)).toEqual([number, new ExactNumber('1.0')]);
  });

  test.each([
    '{}',
    '[]',
    ' { "a" : [ true , false , null ] , "b" : { } } ',
    '[[],[[]],{"a":{"b":[]}}]',
    String.raw`["\"", "\\", "a\\\"b", "\\\\", "\u00eb\ud83d\ude00", "\n", "x,1.0]", "1e3"]`,
    '{"2":1,"1":2,"a":3,"a":4,"":5}',
    '{"__proto__":{"admin":true},"constructor":1}',
    '\n[\t1\r,\n2.5 ]\n',
  ])('is the same as from JSON.parse otherwise: %s', (text) => {
    // The second element makes the exact reader read all of it.
    expect(exactly(`[${text},1.0]`)).toEqual([JSON.parse(text), new ExactNumber('1.0')]);
  });

  test('gets no prototype from the answer', () => {
    const body = exactly('{"__proto__":{"admin":true},"n":1.0}') as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(['__proto__', 'n']);
    expect(body['admin']).toBeUndefined();
  });
});

describe('an answer', () => {
  test("is parsed exactly also with Python's constants in it", () => {
    expect(exactly('[NaN,1.0,-Infinity]')).toEqual([Number.NaN, new ExactNumber('1.0'), -Infinity]);
  });

  test('is parsed with doubles when nothing needs more', () => {
    expect(parseJson('[1.0,12345678901234567890]', { exact: false })).toEqual([1, 12345678901234567000]);
  });

  test.each([true, false])("may hold Python's constants (exact: %s)", (exact) => {
    expect(parseJson('{"a":NaN,"b":[Infinity,-Infinity],"c":"NaN"}', { exact })).toEqual({
      a: Number.NaN,
      b: [Infinity, -Infinity],
      c: 'NaN',
    });
  });

  test.each([
    '',
    ' ',
    '[1,',
    '{"a":secret}',
    '<html>',
    '[1.0,]',
    '[01]',
    'NaN x',
    '[NaN,]',
    'nan',
    '"\n"',
    '[1.]',
    '1,2',
  ])('that is not JSON is refused without quoting it: %j', (text) => {
    expect(() => exactly(text)).toThrow(/^The answer is not JSON(: (mistake at position \d+|it ends too early).*)?$/);
    expect(() => exactly(text)).toThrow(SyntaxError);
  });

  test('that is nested without end is refused', () => {
    const depth = 200_000;
    const text = `${'['.repeat(depth)}1.0${']'.repeat(depth)}`;
    expect(() => exactly(text)).toThrow(new SyntaxError('The answer is nested too deeply'));
  });
});
