import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';

import { cpuMillis } from '../catalog/testing/cpu-millis.ts';
import { canonical } from './canonical.ts';

const textOf = (json: string): string => {
  const result = canonical(json);
  return 'text' in result ? result.text : expect.fail(result.why);
};
const whyOf = (json: string): string => {
  JSON.parse(json);
  const result = canonical(json);
  return 'why' in result ? result.why : expect.fail(result.text);
};

describe('RFC 8785', () => {
  test('3.2.2: literals, strings and numbers', () => {
    const json = String.raw`{
      "numbers": [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    expect(textOf(json)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test('3.2.3: members in the order of UTF-16 code units', () => {
    const json = String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`;
    expect(textOf(json)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",' +
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  /** Those of appendix B, with the doubles written in full where that is their shortest form. */
  test.each([
    ['0', '0'],
    ['-0', '0'],
    ['5e-324', '5e-324'],
    ['-5e-324', '-5e-324'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['-1.7976931348623157E+308', '-1.7976931348623157e+308'],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740992.0', '-9007199254740992'],
    ['295147905179352830000', '295147905179352830000'],
    ['99999999999999970000000', '9.999999999999997e+22'],
    ['100000000000000000000000', '1e+23'],
    ['100000000000000010000000', '1.0000000000000001e+23'],
    ['999999999999999700000', '999999999999999700000'],
    ['999999999999999900000', '999999999999999900000'],
    ['1000000000000000000000', '1e+21'],
    ['0.0000009999999999999997', '9.999999999999997e-7'],
    ['1e-6', '0.000001'],
    ['333333333.3333332', '333333333.3333332'],
    ['333333333.33333325', '333333333.33333325'],
    ['333333333.3333334', '333333333.3333334'],
    ['333333333.33333343', '333333333.33333343'],
    ['-33333333333333333e-22', '-0.0000033333333333333333'],
    ['14249539237812062e-1', '1424953923781206.2'],
  ])('appendix B: %s', (number, expected) => {
    expect(textOf(number)).toBe(expected);
    expect(textOf(`[${number}]`)).toBe(`[${expected}]`);
  });
});

test.each([
  ['1', ['1.0', '1.000', '1e0', '1E+0', '10e-1', '0.1e1', '1e-0']],
  ['100', ['1e2', '100.0', '1E2', '0.0001e+6']],
  ['0.1', ['1e-1', '0.10', '0.01e1']],
  ['0', ['-0', '0.0', '-0.0', '0e99999999999', '0E-5', '-0e0']],
])('ways to write %s', (canonicalText, ways) => {
  expect(ways.map((way) => textOf(way))).toEqual(ways.map(() => canonicalText));
});

test.each([
  ['9007199254740993'],
  ['-9007199254740993'],
  ['18446744073709551615'],
  ['9223372036854775807'],
  ['123456789012345683968'],
  ['0.1000000000000000055511151231257827'],
  ['333333333.33333329'],
  ['1.00000000000000000001'],
  ['1e400'],
  ['-1e400'],
  ['1e-400'],
  ['1e99999999999999999999'],
  ['1e-99999999999999999999'],
])('%s has no text', (number) => {
  expect(whyOf(number)).toBe(`is ${number}, which is not the shortest form of a double`);
  expect(whyOf(`{"a":[0,{"b c":${number}}]}`)).toBe(
    `a[1]["b c"] is ${number}, which is not the shortest form of a double`,
  );
});

test.each([
  ['a member twice', '{"a":1,"b":2,"a":1}', 'has the member "a" twice'],
  ['one after the other', '{"a":1,"a":1}', 'has the member "a" twice'],
  ['written in two ways', '{"a":1,"\\u0061":1}', 'has the member "a" twice'],
  ['deep inside', '{"x":[{"y":{"a":1,"a":2}}]}', 'x[0].y has the member "a" twice'],
  ['__proto__ twice', '{"__proto__":1,"__proto__":1}', 'has the member "__proto__" twice'],
  ['half of a pair, escaped', '["\\ud83d"]', '[0] has half of a surrogate pair'],
  ['the second half', '{"a":"x\\ude00"}', 'a has half of a surrogate pair'],
  ['halves in the wrong order', '"\\ude00\\ud83d"', 'has half of a surrogate pair'],
  ['half of a pair, not escaped', '"\ud83d"', 'has half of a surrogate pair'],
  ['half of a pair in a key', '{"a":{"\\ud83d":1}}', 'a has half of a surrogate pair in a key'],
])('no text: %s', (_what, json, why) => {
  expect(whyOf(json)).toBe(why);
});

test.each([2, 24, 25, 1000])('%d members in any order', (count) => {
  const members = Array.from({ length: count }, (_, i) => `"k${(i * 7919) % 10_007}":${i}`);
  const sorted = members.toSorted((a, b) => (a.slice(0, a.indexOf(':') - 1) < b.slice(0, b.indexOf(':') - 1) ? -1 : 1));
  for (const order of [members, members.toReversed(), sorted, sorted.toReversed()]) {
    expect(textOf(`{${order.join(', ')}}`)).toBe(`{${sorted.join(',')}}`);
  }
  expect(whyOf(`{${members.join(',')},"k0":1}`)).toBe('has the member "k0" twice');
});

test('what the words repeat is short', () => {
  expect(whyOf('9'.repeat(1000)).length).toBeLessThan(100);
  expect(whyOf(`{"${'a'.repeat(1000)}":1,"${'a'.repeat(1000)}":1}`).length).toBeLessThan(100);
});

test.each(['', '  ', '{', '[1', ']'])('what ends too early has none either: %j', (json) => {
  expect(canonical(json)).toEqual({ why: 'is not JSON' });
});

test('members named like those of every object are members', () => {
  const json = '{"toString":1,"__proto__":{"b":1,"a":2},"constructor":null}';
  expect(textOf(json)).toBe('{"__proto__":{"a":2,"b":1},"constructor":null,"toString":1}');
});

test('the canonical text is its own, and the same value', () => {
  const json = ' {"b":[1.50,{"z":"\\u00e9\\/","a":[]}],"a":{},"":"\\u2028"} ';
  const text = textOf(json);
  expect(textOf(text)).toBe(text);
  expect(JSON.parse(text)).toEqual(JSON.parse(json));
});

test('the time grows with the text, not with its depth', () => {
  const deep = (levels: number): string =>
    `${'{"b":0,"a":['.repeat(levels)}"${'x'.repeat(4 << 20)}"${']}'.repeat(levels)}`;
  const json = deep(500);
  expect(cpuMillis(200, () => hash('sha256', textOf(json)))).toBeLessThan(200);
  const levels = 200_000;
  expect(textOf(`${'['.repeat(levels)}${']'.repeat(levels)}`)).toHaveLength(2 * levels);
});
