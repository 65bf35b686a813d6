import { describe, expect, test } from 'vitest';

import { mayBeList, schemaPath } from './schema-path.ts';

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
