import { describe, expect, test } from 'vitest';
import { parseJson } from './json-body.ts';
import { PythonJsonWriter } from './python-json.ts';
import { pythonStr } from './python-text.ts';

const exactly = (text: string): unknown => parseJson(text, { exact: true });

/** JSON, `json.dumps(value, sort_keys=True)` and `str(value)` of Python 3.11; undefined where they are the same. */
const values: [string, string, string?][] = [
  ['1.0', '1.0'],
  ['-0.0', '-0.0'],
  ['-0', '0'],
  ['1e3', '1000.0'],
  ['1e-7', '1e-07'],
  ['1e16', '1e+16'],
  ['9999999999999998.0', '9999999999999998.0'],
  ['1e22', '1e+22'],
  ['123456789012345680.0', '1.2345678901234568e+17'],
  ['-1.5e300', '-1.5e+300'],
  ['0.0001', '0.0001'],
  ['0.00001', '1e-05'],
  ['5e-324', '5e-324'],
  ['1.7976931348623157e308', '1.7976931348623157e+308'],
  ['12345678901234567890', '12345678901234567890'],
  ['-9007199254740993', '-9007199254740993'],
  ['1E400', 'Infinity', 'inf'],
  ['-1E400', '-Infinity', '-inf'],
  ['NaN', 'NaN', 'nan'],
  ['-Infinity', '-Infinity', '-inf'],
  ['0.1', '0.1'],
  ['1.50', '1.5'],
  ['100', '100'],
  ['true', 'true', 'True'],
  ['false', 'false', 'False'],
  ['null', 'null', 'None'],
  ['"zoë"', String.raw`"zo\u00eb"`, 'zoë'],
  ['"a/b"', '"a/b"', 'a/b'],
  [String.raw`"\"\\\n\r\t\f\b\u0001\u007f"`, String.raw`"\"\\\n\r\t\f\b\u0001\u007f"`, '"\\\n\r\t\f\b\u0001\u007F'],
  [String.raw`"\ud83d\ude00\ud800"`, String.raw`"\ud83d\ude00\ud800"`, '\u{1F600}\uD800'],
  ['[]', '[]'],
  ['{}', '{}'],
  ['[1,"a",null,[]]', '[1, "a", null, []]', "[1, 'a', None, []]"],
  ['{"b":1.0,"a":{"c":true}}', '{"a": {"c": true}, "b": 1.0}', "{'b': 1.0, 'a': {'c': True}}"],
  [`["it's","\\"it's\\"","\\""]`, `["it's", "\\"it's\\"", "\\""]`, `["it's", '"it\\'s"', '"']`],
  [
    String.raw`["a b\n\t\u0000\u007f\u00a0\u200b\ud83d\ude00\ue000\\"]`,
    String.raw`["a b\n\t\u0000\u007f\u00a0\u200b\ud83d\ude00\ue000\\"]`,
    String.raw`['a b\n\t\x00\x7f\xa0\u200b` + '\u{1F600}' + String.raw`\ue000\\']`,
  ],
  // Sorted by code points: in UTF-16 the face would stand before U+FFFF.
  [
    String.raw`{"\ud83d\ude00":1,"\uffff":2,"\ud83d":3,"Z":4,"a":5,"":6}`,
    String.raw`{"": 6, "Z": 4, "a": 5, "\ud83d": 3, "\uffff": 2, "\ud83d\ude00": 1}`,
    `{'\u{1F600}': 1, '\\uffff': 2, '\\ud83d': 3, 'Z': 4, 'a': 5, '': 6}`,
  ],
  [
    String.raw`{"\ud83d\ude00":1,"\ud83d\uffff":2}`,
    String.raw`{"\ud83d\uffff": 2, "\ud83d\ude00": 1}`,
    `{'\u{1F600}': 1, '\\ud83d\\uffff': 2}`,
  ],
];

describe("Python's text of a value", () => {
  test.each(values)('JSON of %s is %s', (text, json) => {
    expect(new PythonJsonWriter().write(exactly(text))).toBe(json);
  });

  test.each(values)('str() of %s (JSON %s) is what Python makes of it', (text, json, str = json) => {
    expect(pythonStr(exactly(text))).toBe(str);
  });
});

test('a whole double of more than 2^53 counts as a float', () => {
  expect(pythonStr(2 ** 60)).toBe('1.152921504606847e+18');
});

describe('a writer of JSON', () => {
  test('sorts objects of other keys and of another order each by themselves', () => {
    const writer = new PythonJsonWriter();
    const texts = ['{"b":1,"a":2}', '{"a":2,"b":1}', '{"b":1,"c":2}', '{"b":1}', '{"b":1,"a":2}'];
    expect(texts.map((text) => writer.write(JSON.parse(text)))).toEqual([
      '{"a": 2, "b": 1}',
      '{"a": 2, "b": 1}',
      '{"b": 1, "c": 2}',
      '{"b": 1}',
      '{"a": 2, "b": 1}',
    ]);
  });

  test('sorts also more sets of keys than it remembers', () => {
    const writer = new PythonJsonWriter();
    const texts = Array.from({ length: 50 }, (_, index) => writer.write({ [`z${index}`]: 1, a: 2 }));
    expect(texts).toEqual(Array.from({ length: 50 }, (_, index) => `{"a": 2, "z${index}": 1}`));
  });
});
