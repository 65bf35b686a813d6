import { describe, expect, test } from 'vitest';

import { locate } from '../exchange/scanning/json-scan.ts';
import { mayBeList, schemaPath } from './schema-path.ts';
import { cpuMillis } from './testing/cpu-millis.ts';
import { hostileTools } from './testing/hostile-tools.ts';

/** For each question. */
const MOST_MILLIS = 50;

const read = (schema: object, path: string, follow = true): unknown => {
  const text = JSON.stringify(schema);
  return schemaPath(text, path.split('.'), follow).map(({ span, required }) => [
    JSON.parse(text.slice(span.start, span.end)) as unknown,
    required,
  ]);
};
const file = { type: 'string', title: 'f' };
const holder = { type: 'object', properties: { b: file }, required: ['b'] };

describe('the properties on a path', () => {
  test('are found through objects, lists and alternatives', () => {
    expect(read({ properties: { a: file } }, 'a')).toEqual([[file, false]]);
    expect(read({ properties: { a: file }, required: ['x', 'a'] }, 'a')).toEqual([[file, true]]);
    expect(read({ properties: { a: holder } }, 'a.b')).toEqual([
      [holder, false],
      [file, true],
    ]);
    const list = { type: 'array', items: holder };
    expect(read({ properties: { a: list } }, 'a.b')).toEqual([
      [list, false],
      [file, true],
    ]);
    const optional = { anyOf: [{ type: 'null' }, list] };
    expect(read({ properties: { a: optional } }, 'a.b')).toEqual([
      [optional, false],
      [file, true],
    ]);
  });

  test('are followed into definitions only where that is asked for', () => {
    const schema = { properties: { a: { $ref: '#/$defs/H~1x' } }, required: ['a'], $defs: { 'H/x': holder } };
    expect(read(schema, 'a.b')).toEqual([
      [{ $ref: '#/$defs/H~1x' }, true],
      [file, true],
    ]);
    expect(read(schema, 'a.b', false)).toEqual([[{ $ref: '#/$defs/H~1x' }, true]]);
  });

  test('end where the schema does', () => {
    expect(read({ properties: { a: holder } }, 'a.c')).toEqual([[holder, false]]);
    for (const schema of [{}, { properties: [] }, { properties: { b: 1 } }, { items: [{ properties: { a: file } }] }]) {
      expect(read(schema, 'a')).toEqual([]);
    }
    expect(read({ $ref: '#' }, 'a')).toEqual([]);
    expect(read({ $defs: { A: { $ref: '#/$defs/A' } }, $ref: '#/$defs/A' }, 'a')).toEqual([]);
    expect(read({ $ref: 'https://example.com/schema' }, 'a')).toEqual([]);
  });

  test('are found beside references that lead nowhere', () => {
    const loop = { $ref: '#/$defs/A' };
    const schema = { anyOf: [loop, loop, { properties: { a: file } }], $defs: { A: { anyOf: [loop, loop] } } };
    expect(read(schema, 'a')).toEqual([[file, false]]);
    const tree = { $ref: '#/$defs/T', $defs: { T: { properties: { a: { $ref: '#/$defs/T' }, b: file } } } };
    expect(read(tree, 'a.a.a.b')).toHaveLength(4);
  });
});

test.each<[object, boolean]>([
  [{ type: 'array', items: { type: 'string' } }, true],
  [{ type: ['array', 'null'] }, true],
  [{ anyOf: [{ type: 'null' }, { type: 'array' }] }, true],
  [{ $ref: '#/$defs/x', $defs: { x: { type: 'array' } } }, true],
  [{ type: 'string' }, false],
  [{}, false],
  [{ items: { type: 'array' }, type: 'object' }, false],
])('%j may be a list: %s', (schema, expected) => {
  const text = JSON.stringify(schema);
  expect(mayBeList(text, { start: 0, end: text.length })).toBe(expected);
});

const dense = `{${'"":0,'.repeat(2 ** 16)}"$ref":"#"}`;
const wide = JSON.stringify({
  anyOf: Array.from({ length: 1000 }, (_, i) => ({ $ref: `#/$defs/d${i}` })),
  $defs: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }])),
});
const deep = `{"$ref":"#${'/a'.repeat(1000)}","a":${'{"a":'.repeat(1000)}{}${'}'.repeat(1000)}}`;
const own = JSON.stringify({
  properties: { a: { anyOf: [{ $ref: '#/properties/a' }, { $ref: '#/properties/a' }] } },
  required: ['a'],
});

describe.each([
  ['dense', dense],
  ['wide', wide],
  ['deep', deep],
  ['its own alternative', own],
  ...Array.from(hostileTools, ([id, tool]): [string, string] => {
    const schema = locate(tool, ['inputSchema']);
    return [id, schema === undefined ? tool : tool.slice(schema.start, schema.end)];
  }),
])('a schema that is hostile: %s', (_id, schema) => {
  test(`takes no more than ${MOST_MILLIS} ms`, () => {
    expect(cpuMillis(MOST_MILLIS, () => schemaPath(schema, ['a'], true))).toBeLessThan(MOST_MILLIS);
    expect(cpuMillis(MOST_MILLIS, () => mayBeList(schema, { start: 0, end: schema.length }))).toBeLessThan(MOST_MILLIS);
  });
});
