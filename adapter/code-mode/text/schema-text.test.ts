import { describe, expect, test } from 'vitest';

import { propertyLines } from './schema-text.ts';
import { SchemaView } from './schema-view.ts';
import { typeText } from './type-text.ts';

const shown = (schema: unknown): readonly string[] => propertyLines(new SchemaView(schema, 5_000));
const linesOf = (properties: object, more: object = {}): string =>
  shown({ type: 'object', properties, ...more }).join('\n');
const typeOf = (schema: unknown): string => typeText(schema, new SchemaView(schema, 100));

describe('a type in a few words', () => {
  test.each([
    [{ type: 'string' }, 'string'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ enum: ['a', 2, null] }, '"a" | 2 | null'],
    [{ const: 'a' }, '"a"'],
    [{ anyOf: [{ type: 'string' }, { enum: ['x', 'y'] }, { type: 'null' }] }, 'string | "x" | "y" | null'],
    [{ oneOf: [{ type: 'string' }, { type: 'string', minLength: 1 }] }, 'string'],
    [{ type: 'array', items: { type: 'integer' } }, 'array of integer'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'array of ("a" | "b")'],
    [{ items: { type: 'object' } }, 'array of object'],
    [{ type: 'array' }, 'array'],
    [{ properties: {} }, 'object'],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'object of string'],
    [{ type: 'object', additionalProperties: true }, 'object'],
    [{ type: 'object', properties: { a: {} }, additionalProperties: { type: 'string' } }, 'object'],
    [{ type: 'object', properties: { a: {} }, anyOf: [{ required: ['a'] }, { minProperties: 1 }] }, 'object'],
    [{}, 'any'],
    [true, 'any'],
    [false, 'nothing'],
    [{ type: 'string\n# Heading' }, 'any'],
    [{ type: 7, enum: 'x', anyOf: {}, items: 3 }, 'array'],
    [{ $ref: 'https://example.org/schema' }, 'any'],
  ])('%j', (schema, text) => {
    expect(typeOf(schema)).toBe(text);
  });

  test('names some of many values, and how many there are', () => {
    const text = typeOf({ enum: Array.from({ length: 1_000 }, (_, i) => i) });
    expect(text).toContain('0 | 1 | 2 |');
    expect(text).toContain('(960 more values)');
    expect(typeOf({ enum: Array.from({ length: 40 }, () => 'x'.repeat(10_000)) }).length).toBeLessThan(1_500);
  });
});

describe('parameters', () => {
  test('show type, whether they are required, limits, default and description', () => {
    expect(
      linesOf(
        {
          path: { type: 'string', description: 'Where\n  to look' },
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 30, title: 'Limit' },
          any: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991, title: 'How many' },
          since: { type: 'string', format: 'date-time', pattern: '^`x`$' },
        },
        { required: ['path', 'missing', 7] },
      ),
    ).toBe(
      [
        '- `path` (string, required): Where to look',
        '- `limit` (integer, >= 1, <= 100, default 30)',
        '- `any` (integer): How many',
        '- `since` (string, format date-time, pattern "^`x`$")',
      ].join('\n'),
    );
  });

  test('are shown two levels deep; what is deeper is named', () => {
    const leaf = { type: 'object', properties: { e: { type: 'string' }, f: { type: 'string' } } };
    const deep = (inner: object, key: string): object => ({ type: 'object', properties: { [key]: inner } });
    expect(linesOf({ a: deep(deep(leaf, 'c'), 'b') })).toBe(
      ['- `a` (object)', '  - `b` (object)', '    - `c` (object, with e, f)'].join('\n'),
    );
  });

  test('show no variants of what is two levels deep', () => {
    const deepest = { properties: { c: {} }, oneOf: [{ properties: { d: {} } }] };
    expect(linesOf({ a: { properties: { b: deepest } } })).toBe(
      ['- `a` (object)', '  - `b` (object)', '    - `c` (any)'].join('\n'),
    );
  });

  test('show what the elements, the values and the variants are made of', () => {
    const point = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] };
    expect(
      linesOf({
        points: { type: 'array', items: point },
        byName: { type: 'object', additionalProperties: point },
        maybe: { anyOf: [point, { type: 'null' }] },
        either: { oneOf: [point, { type: 'object', properties: { y: { const: 1 } } }] },
      }),
    ).toBe(
      [
        '- `points` (array of object)',
        '  - `x` (number, required)',
        '- `byName` (object of object)',
        '  - `x` (number, required)',
        '- `maybe` (object | null)',
        '  - `x` (number, required)',
        '- `either` (object)',
        '  - object 1:',
        '    - `x` (number, required)',
        '  - object 2:',
        '    - `y` (1)',
      ].join('\n'),
    );
  });

  test('show what else an object may be made of', () => {
    const one = { properties: { b: { type: 'string' } } };
    const two = { $ref: '#/$defs/Two' };
    const $defs = { Two: { properties: { c: { type: 'object', oneOf: [one, one] } } } };
    expect(shown({ properties: { a: {} }, oneOf: [one, two, { required: ['a'] }], $defs })).toEqual([
      '- `a` (any)',
      '- either, 1:',
      '  - `b` (string)',
      '- either, 2:',
      '  - `c` (object)',
      '    - object 1:',
      '      - `b` (string)',
      '    - object 2:',
      '      - `b` (string)',
    ]);
  });

  test('are those that references lead to, with the words beside the reference', () => {
    const schema = {
      properties: { user: { $ref: '#/$defs/a~1b%20c', description: 'Who' }, other: { $ref: '#/definitions/User' } },
      $defs: { 'a/b c': { $ref: '#/definitions/User' } },
      definitions: { User: { type: 'object', description: 'A user', properties: { id: { type: 'string' } } } },
    };
    expect(shown(schema)).toEqual([
      '- `user` (object): Who',
      '  - `id` (string)',
      '- `other` (object): A user',
      '  - `id` (string)',
    ]);
  });

  test('of allOf stand together', () => {
    const schema = {
      allOf: [
        { $ref: '#/$defs/Base' },
        { properties: { b: { type: 'string' } }, required: ['b'] },
        { minProperties: 1 },
      ],
      properties: { c: { allOf: [{ minimum: 1 }] } },
      required: ['a'],
      $defs: { Base: { properties: { a: { type: 'string' } } } },
    };
    expect(shown(schema)).toEqual(['- `c` (any)', '- `a` (string, required)', '- `b` (string, required)']);
  });

  test.each([
    ['itself', { $ref: '#' }],
    ['another that refers back', { $ref: '#/$defs/A' }],
    ['a reference without end', { $ref: '#/$defs/Loop' }],
    ['nothing', { $ref: '#/$defs/%E0%A4%A/none/0' }],
  ])('end where a schema refers to %s', (_, reference) => {
    const schema = {
      properties: { next: reference, all: { allOf: [reference] }, list: { type: 'array', items: reference } },
      $defs: {
        A: { properties: { b: { $ref: '#/$defs/B' } } },
        B: { properties: { a: { $ref: '#/$defs/A' } } },
        Loop: { $ref: '#/$defs/Loop' },
      },
    };
    expect(shown(schema).length).toBeLessThan(60);
  });

  test('cannot look like anything else by their names', () => {
    expect(linesOf(JSON.parse('{"__proto__":{"type":"string"},"a`\\n# b":{},"constructor":{}}') as object)).toBe(
      ['- `__proto__` (string)', '- "a`\\n# b" (any)', '- `constructor` (any)'].join('\n'),
    );
  });

  test('are bounded in number', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, { type: 'string' }]));
    const lines = shown({ properties: many });
    expect(lines).toHaveLength(301);
    expect(lines.at(-1)).toBe('- … and more');
  });

  test.each([
    undefined,
    null,
    true,
    7,
    'x',
    [],
    { properties: 7 },
    { properties: [] },
    { properties: { a: null, b: 3 }, required: 'a' },
  ])('of an odd schema break nothing: %j', (schema) => {
    expect(() => shown(schema)).not.toThrow();
  });
});
