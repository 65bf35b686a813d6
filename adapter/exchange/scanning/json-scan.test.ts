import { describe, expect, test } from 'vitest';

import type { JsonLimits } from '../../../lib/json/json-limits.ts';
import { stringEnd } from '../../../lib/json/json-string.ts';
import { elements, locate, members, shapeProblem, splice } from './json-scan.ts';
import { generateJson, seededRandom } from '../testing/generate-json.ts';

/** What the scanner says stands in an object, with the values parsed. */
const scanned = (text: string, at = 0): [string, unknown][] =>
  [...members(text, at)].map(({ key, start, end }) => [key, JSON.parse(text.slice(start, end))]);

const texts = (text: string, at = 0): string[] =>
  [...elements(text, at)].map(({ start, end }) => text.slice(start, end));

/** Brackets around a 1. */
const nested = (open: string, close: string, depth: number): string => `${open.repeat(depth)}1${close.repeat(depth)}`;

/** How deep a document is nested, counted another way: without its strings, brackets are all that counts. */
const depthOf = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  for (const bracket of text.replaceAll(/"(?:\\.|[^"\\])*"/g, '').replaceAll(/[^[\]{}]/g, '')) {
    depth += '[{'.includes(bracket) ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
};

/** Runs every search over the text, to its end. */
const search = (text: string): void => {
  try {
    for (const _ of members(text)) /* all of them */ ;
    for (const _ of elements(text)) /* all of them */ ;
    locate(text, ['a', 'b']);
    shapeProblem(text, levels(64));
  } catch (error) {
    // A key that is no JSON string.
    expect(error).toBeInstanceOf(SyntaxError);
  }
};

describe('the end of a string', () => {
  test('is the quote that no backslash takes back, however far from the last one that one does', () => {
    const random = seededRandom(7);
    const pieces = ['"', '\\', 'a', '\n', 'x'.repeat(61), 'y'.repeat(64), '\\"', '\\\\'];
    for (let round = 0; round < 2000; round++) {
      const value = Array.from({ length: random() * 12 }, () => pieces[Math.floor(random() * pieces.length)]).join('');
      const json = JSON.stringify(value);
      expect(stringEnd(`[${json},"b"]`, 1), json).toBe(1 + json.length);
      // One that has no end takes the rest.
      const open = json.slice(0, -1);
      expect(stringEnd(open, 0), open).toBe(open.length);
    }
  });
});

describe('members', () => {
  test.each<[string, [string, unknown][]]>([
    ['{}', []],
    ['  {  } ', []],
    ['{"a":1}', [['a', 1]]],
    [
      '{"a" : 1 , "b" : [ ] }',
      [
        ['a', 1],
        ['b', []],
      ],
    ],
    [
      '\t{\r\n"a":true,"b":false,"c":null,"d":-1.5e+10}\n',
      [
        ['a', true],
        ['b', false],
        ['c', null],
        ['d', -1.5e10],
      ],
    ],
    [
      '{"a":"}","b":"]","c":"{[,:"}',
      [
        ['a', '}'],
        ['b', ']'],
        ['c', '{[,:'],
      ],
    ],
    [
      '{"a":{"b":{"c":"}"}},"d":1}',
      [
        ['a', { b: { c: '}' } }],
        ['d', 1],
      ],
    ],
    [
      String.raw`{"a\"b":"c\"d","e\\":"\\","f\\\"":"\\\\\""}`,
      [
        ['a"b', 'c"d'],
        ['e\\', '\\'],
        ['f\\"', '\\\\"'],
      ],
    ],
    [
      String.raw`{"\u0061":1,"\u00e9":2,"\ud83d\ude00":3,"\ud800":4}`,
      [
        ['a', 1],
        ['é', 2],
        ['😀', 3],
        ['\ud800', 4],
      ],
    ],
    ['{"":1}', [['', 1]]],
    [
      '{"a":1,"a":2}',
      [
        ['a', 1],
        ['a', 2],
      ],
    ],
    [
      '{"__proto__":1,"constructor":2}',
      [
        ['__proto__', 1],
        ['constructor', 2],
      ],
    ],
  ])('of %s', (text, expected) => {
    expect(scanned(text)).toEqual(expected);
  });

  test.each(['[]', '"{}"', '12', 'null', '', '   '])('of the value %j are none', (text) => {
    expect(scanned(text)).toEqual([]);
  });

  test('say where a member begins, and where its value does', () => {
    const text = '{ "id" : 12 }';
    expect([...members(text)]).toEqual([{ key: 'id', keyStart: 2, start: 9, end: 11 }]);
  });

  test('are those of the object at the given place', () => {
    const text = '[{"a":1},{"b":2}]';
    expect(scanned(text, text.indexOf('{"b'))).toEqual([['b', 2]]);
  });
});

describe('elements', () => {
  test.each<[string, string[]]>([
    ['[]', []],
    [' [ ] ', []],
    ['[1]', ['1']],
    ['[ 1 , "a,b]" ,[2,[3]], {"c":"]"} , null ]', ['1', '"a,b]"', '[2,[3]]', '{"c":"]"}', 'null']],
    ['[1.0,12345678901234567890,1e2]', ['1.0', '12345678901234567890', '1e2']],
    ['{"a":[1]}', []],
    ['12', []],
    ['', []],
  ])('of %s', (text, expected) => {
    expect(texts(text)).toEqual(expected);
  });

  test('are those of the array at the given place', () => {
    const text = '{"a":[1],"b":[2,3]}';
    expect(texts(text, text.indexOf('[2'))).toEqual(['2', '3']);
  });
});

describe('locate', () => {
  const text = '{"a":{"b":{"c":12345678901234567890}},"b":[1],"d.e":"x","n":null}';
  const at = (path: string[], from = 0): string | undefined => {
    const span = locate(text, path, from);
    return span === undefined ? undefined : text.slice(span.start, span.end);
  };

  test('finds a value by its path, as it is written', () => {
    expect(at(['a', 'b', 'c'])).toBe('12345678901234567890');
    expect(at(['a'])).toBe('{"b":{"c":12345678901234567890}}');
    expect(at(['b'])).toBe('[1]');
    expect(at(['d.e'])).toBe('"x"');
    expect(at(['n'])).toBe('null');
    expect(at([])).toBe(text);
    expect(at(['c'], text.indexOf('{"c"'))).toBe('12345678901234567890');
  });

  test('finds nothing where there is nothing', () => {
    for (const path of [['x'], ['a', 'x'], ['b', '0'], ['n', 'x'], ['a', 'b', 'c', 'd'], ['d', 'e'], ['']]) {
      expect(at(path)).toBeUndefined();
    }
  });

  test('takes the last of several, as JSON.parse does', () => {
    const twice = '{"id":1,"x":{"id":2},"id":3}';
    const span = locate(twice, ['id']);
    expect(twice.slice(span?.start, span?.end)).toBe('3');
  });

  test('compares keys by what they mean, not by how they are written', () => {
    const escaped = String.raw`{"\u0069d":7}`;
    const span = locate(escaped, ['id']);
    expect(escaped.slice(span?.start, span?.end)).toBe('7');
  });
});

describe('splice', () => {
  test('replaces what it is told and nothing else', () => {
    expect(splice('abcdef', [])).toBe('abcdef');
    expect(splice('abcdef', [{ start: 1, end: 2, with: 'XYZ' }])).toBe('aXYZcdef');
    const edits = [
      { start: 0, end: 1, with: '' },
      { start: 1, end: 1, with: '+' },
      { start: 5, end: 6, with: '!' },
    ];
    expect(splice('abcdef', edits)).toBe('+bcde!');
  });
});

const levels = (depth: number): JsonLimits => ({ values: Infinity, depth });

describe('shapeProblem', () => {
  test('T17: counts values while it looks', () => {
    const limits = { values: 4, depth: 8 };
    expect(shapeProblem('{"a":[1,"{,["]}', limits)).toBeUndefined();
    expect(shapeProblem('{"a":[1,2,3]}', limits)).toEqual({ kind: 'values' });
    expect(shapeProblem('{"a":{},"b":{}}', limits)).toEqual({ kind: 'values' });
  });

  const message = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}';

  test('has nothing against a message, however its arguments look', () => {
    expect(shapeProblem(message, levels(512))).toBeUndefined();
    expect(shapeProblem(`[${message},${message}]`, levels(512), 1)).toBeUndefined();
    // Keys of one object say nothing about the next one, and strings are no keys.
    expect(shapeProblem('{"params":{"a":1},"id":"params","method":"id"}', levels(8))).toBeUndefined();
    expect(shapeProblem('{"id":1,"params":{"id":2,"method":"x"},"method":"y"}', levels(8))).toBeUndefined();
    expect(shapeProblem('{"params":["a","a",{"b":1},{"b":1}],"x":{"a":1,"A":1}}', levels(8))).toBeUndefined();
    expect(shapeProblem('[{"params":{"a":1}},{"params":{"a":1}}]', levels(8), 1)).toBeUndefined();
    expect(shapeProblem('{"result":{"a":1,"A":2}}', levels(8))).toBeUndefined();
  });

  test.each<[string, string]>([
    ['{"id":1,"id":2}', 'id'],
    ['{"id":1,"ID":2}', 'id'],
    [String.raw`{"id":1,"\u0069d":2}`, 'id'],
    [String.raw`{"id":1,"\u0049D":2}`, 'id'],
    ['{"id" :1, "id"\n: 2}', 'id'],
    ['{"method":"a","params":{},"method":"b"}', 'method'],
    ['{"params":{"name":"a","name":"b"}}', 'name'],
    ['{"params":{"name":"a","Name":"b"}}', 'name'],
    ['{"params":{"a":{"b":1},"name":"a","arguments":{},"name":"b"}}', 'name'],
    ['{"params":{},"PARAMS":{}}', 'params'],
    // Some parsers hold these for letters of "params" and "task".
    ['{"params":{},"param\u017f":{}}', 'params'],
    ['{"params":{"task":1,"tas\u212a":2}}', 'task'],
    ['{"":1,"":2}', ''],
  ])('finds the duplicate in %s', (text, key) => {
    expect(shapeProblem(text, levels(8))).toEqual({ kind: 'duplicate', key });
    expect(shapeProblem(`[{"x":1},${text}]`, levels(8), 1)).toEqual({ kind: 'duplicate', key });
  });

  test.each<[string, string]>([
    ['{"jsonrpc":"2.0","ID":1,"method":"a"}', 'id'],
    ['{"id":1,"Method":"tools/call","params":{}}', 'method'],
    ['{"Params":{"a":1}}', 'params'],
    ['{"params":{"name":"a","Arguments":{}}}', 'arguments'],
    ['{"params":{"URI":"a"}}', 'uri'],
    ['{"params":{"tas\u212a":1}}', 'task'],
  ])('finds the other spelling in %s', (text, key) => {
    expect(shapeProblem(text, levels(8))).toEqual({ kind: 'variant', key });
    expect(shapeProblem(`[{"x":1},${text}]`, levels(8), 1)).toEqual({ kind: 'variant', key });
  });

  test('has nothing against other spellings where they mean nothing', () => {
    expect(shapeProblem('{"params":{"arguments":{"Name":1,"ID":2},"Level":"x"},"Name":1}', levels(8))).toBeUndefined();
  });

  test.each([1, 60, 64, 65, 66, 300])('finds a duplicate after %i other members', (count) => {
    const filler = Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',');
    expect(shapeProblem(`{${filler}}`, levels(8))).toBeUndefined();
    for (const text of [
      `{${filler},"method":1,"method":2}`,
      `{"method":1,${filler},"method":2}`,
      `{${filler},"K0":1}`,
    ]) {
      expect(shapeProblem(text, levels(8))?.kind).toBe('duplicate');
      expect(shapeProblem(`{"params":${text}}`, levels(8))?.kind).toBe('duplicate');
    }
  });

  test('finds nesting that is too deep, of either kind, and counts brackets in strings for nothing', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      expect(shapeProblem(nested(open, close, 8), levels(8))).toBeUndefined();
      expect(shapeProblem(nested(open, close, 9), levels(8))).toEqual({ kind: 'depth' });
    }
    expect(shapeProblem(`["${'['.repeat(100)}",{"${'{'.repeat(100)}":1}]`, levels(8))).toBeUndefined();
  });

  test('says that text which is no JSON at all is too deep before it is parsed', () => {
    expect(shapeProblem('['.repeat(1_000_000), levels(512))).toEqual({ kind: 'depth' });
  });
});

describe('any JSON document', () => {
  const random = seededRandom(20_260_728);
  const documents = Array.from({ length: 400 }, () => generateJson(random));

  test('is taken apart as JSON.parse does it', () => {
    for (const text of documents) {
      const value: unknown = JSON.parse(text);
      if (Array.isArray(value)) {
        expect(texts(text).map((one) => JSON.parse(one) as unknown)).toEqual(value);
        expect(scanned(text)).toEqual([]);
      } else if (typeof value === 'object' && value !== null) {
        // fromEntries keeps the last of several, as JSON.parse does, and takes __proto__ as a name like any other.
        expect(Object.fromEntries(scanned(text))).toEqual(value);
        expect(texts(text)).toEqual([]);
      } else expect([scanned(text), texts(text)]).toEqual([[], []]);
    }
  });

  test('gives every value by its path', () => {
    let found = 0;
    const check = (text: string, value: unknown, path: string[]): void => {
      const span = locate(text, path);
      expect(JSON.parse(text.slice(span?.start, span?.end))).toEqual(value);
      found++;
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
      for (const [key, inner] of Object.entries(value)) check(text, inner, [...path, key]);
    };
    for (const text of documents) check(text, JSON.parse(text), []);
    expect(found).toBeGreaterThan(1000);
  });

  test('is too deep exactly where it is', () => {
    for (const text of documents) {
      if (shapeProblem(text, levels(1000)) !== undefined) continue;
      const depth = depthOf(text);
      expect(shapeProblem(text, levels(depth))).toBeUndefined();
      if (depth > 0) expect(shapeProblem(text, levels(depth - 1))).toEqual({ kind: 'depth' });
    }
  });

  test('with its end cut off, or with a character replaced, lets no search go on for ever', () => {
    const sample = String.raw`{"result":{"tools":[{"name":"a\"b","x":[1,{"y":"\\"}]}]},"id":1}`;
    for (let end = 0; end <= sample.length; end++) {
      search(sample.slice(0, end));
      search(`[${sample.slice(end)}`);
      for (const other of '{}[]":,\\ \0') search(sample.slice(0, end) + other + sample.slice(end + 1));
    }
    for (const text of documents) search(text.slice(0, Math.floor(text.length * random())));
  });
});
