import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AdapterConfig } from '../config/adapter-file/adapter.ts';
import { bytes } from '../config/values/bytes.ts';
import { ScraperSettings, Source } from '../config/scraper-file/scraper.ts';
import {
  flag,
  integer,
  listOf,
  maybeEmpty,
  oneOf,
  oneOfAnyCase,
  orNull,
  seconds,
  text,
  trimmed,
} from '../config/values/values.ts';
import { type JsonSchema, inputSchema } from './json-schema.ts';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';

const own = (schema: z.ZodType): StructuralSchema => structuralSchema(inputSchema(schema), { references: false });
const file = (schema: z.ZodType): StructuralSchema => structuralSchema(inputSchema(schema), { references: true });

const REFERENCE = String.raw`\$\{[A-Za-z_]`;
const INT_OR_STRING: StructuralSchema = {
  'x-kubernetes-int-or-string': true,
  anyOf: [{ type: 'integer' }, { type: 'string' }],
};

describe('the fields of the kinds', () => {
  it.each<[string, z.ZodType, StructuralSchema]>([
    ['a string', z.string().min(1).max(9), { type: 'string', minLength: 1, maxLength: 9 }],
    ['a pattern', z.string().regex(/^a$/), { type: 'string', pattern: '^a$' }],
    ['words', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
    ['one word', z.literal('a'), { type: 'string', enum: ['a'] }],
    ['words or null', z.enum(['a']).nullable(), { type: 'string', enum: ['a', null], nullable: true }],
    ['an integer without the bounds of a safe one', z.int(), { type: 'integer' }],
    ['an integer with bounds', z.int().min(1).max(5), { type: 'integer', minimum: 1, maximum: 5 }],
    [
      'a number above',
      z.number().gt(0).lt(1),
      { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true },
    ],
    ['a boolean', z.boolean().nullable(), { type: 'boolean', nullable: true }],
    ['a string or null', z.string().nullable(), { type: 'string', nullable: true }],
    [
      'a list',
      z.array(z.string()).min(1).max(3),
      { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string' } },
    ],
    ['a map', z.record(z.string().max(5), z.string()), { type: 'object', additionalProperties: { type: 'string' } }],
    [
      'an object of Kubernetes',
      z.record(z.string(), z.unknown()),
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'a loose object',
      z.looseObject({ a: z.string() }),
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
        'x-kubernetes-preserve-unknown-fields': true,
      },
    ],
    ['anything', z.unknown(), { 'x-kubernetes-preserve-unknown-fields': true, nullable: true }],
    [
      'an integer or a string',
      z.union([z.int().min(1), z.string().regex(/^[0-9]+%$/)]),
      { ...INT_OR_STRING, minimum: 1, pattern: '^[0-9]+%$' },
    ],
    ['an integer, a string or null', z.union([z.int(), z.string()]).nullable(), { ...INT_OR_STRING, nullable: true }],
    [
      'strings of two kinds',
      z.union([z.string().regex(/^a/), z.string().regex(/^b/)]),
      { type: 'string', anyOf: [{ pattern: '^a' }, { pattern: '^b' }] },
    ],
    ['a time, whose pattern is the API server’s', z.iso.datetime(), { type: 'string', format: 'date-time' }],
    ['a host name, whose pattern looks around', z.hostname(), { type: 'string', format: 'hostname' }],
    ['the end of a text', z.string().endsWith('/'), { type: 'string', pattern: String.raw`.*\/$` }],
    ['what only documents', z.string().meta({ title: 'T', examples: ['x'], readOnly: true }), { type: 'string' }],
    [
      'words of Kubernetes',
      z.array(z.string()).meta({ 'x-kubernetes-list-type': 'set' }),
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    ],
  ])('%s', (_, schema, structural) => {
    expect(own(schema)).toEqual(structural);
  });

  it('an object drops what is unknown, and requires what is required', () => {
    expect(own(z.strictObject({ a: z.string(), b: z.string().optional() }))).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a'],
    });
  });

  it('a default is told, never set: also in a list and in a section', () => {
    const item = z.strictObject({ a: z.string().describe('An a.').default('x'), n: z.int().default(5) });
    const schema = own(z.strictObject({ list: z.array(item).default([]), section: item.prefault({}) }));
    expect(JSON.stringify(schema)).not.toContain('"default"');
    expect(schema.properties?.['list']?.items?.properties?.['a']?.description).toBe('An a. Default: `x`.');
    expect(schema.properties?.['section']?.properties?.['n']?.description).toBe('Default: 5.');
  });

  it('a description stays, wherever null was added', () => {
    expect(own(z.string().describe('Words.').nullable())).toMatchObject({ description: 'Words.', nullable: true });
    expect(own(z.string().describe('(new) Words.'))).toMatchObject({ description: 'Words.' });
  });
});

describe('the values of a configuration file', () => {
  it.each<[string, z.ZodType, StructuralSchema]>([
    ['any string', text(), { type: 'string' }],
    ['a string that is not blank', trimmed(), { type: 'string', pattern: String.raw`\S` }],
    [
      'a string with a rule',
      z.string().regex(/^a$/),
      { type: 'string', anyOf: [{ pattern: '^a$' }, { pattern: REFERENCE }] },
    ],
    [
      'a string with a length',
      z.string().max(3),
      { type: 'string', anyOf: [{ maxLength: 3 }, { pattern: REFERENCE }] },
    ],
    [
      'words',
      oneOf(['off', 'on']),
      { description: 'One of `off`, `on`.', type: 'string', anyOf: [{ enum: ['off', 'on'] }, { pattern: REFERENCE }] },
    ],
    [
      'words or null',
      oneOf(['on']).nullable(),
      {
        description: 'One of `on`.',
        type: 'string',
        anyOf: [{ enum: ['on', null] }, { pattern: REFERENCE }],
        nullable: true,
      },
    ],
  ])('%s', (_, schema, structural) => {
    expect(file(schema)).toEqual(structural);
  });

  it('words in any case are listed once', () => {
    expect(file(oneOfAnyCase(['low', 'high'])).description).toBe('One of `low`, `high`.');
  });

  it('an integer is an integer or a text with a number or a reference', () => {
    const schema = file(integer({ min: 1, max: 9 }).describe('How often.').prefault(3));
    expect(schema).toMatchObject({ ...INT_OR_STRING, minimum: 1, maximum: 9 });
    expect(schema.description).toBe('Integer from 1 to 9. How often. Default: 3.');
    expect(patternOf(schema)).toEqual({ accepted: ['5', '1_000', ' 7 ', '${N}', '8${N}'], refused: ['five', ''] });
  });

  it('a number has no type, but bounds for numbers and a pattern for texts', () => {
    const schema = file(seconds().nullable().prefault(null));
    expect(schema).toMatchObject({
      'x-kubernetes-preserve-unknown-fields': true,
      minimum: 0,
      exclusiveMinimum: true,
      maxItems: 0,
      maxProperties: 0,
      nullable: true,
    });
    expect(schema.type).toBeUndefined();
    expect(schema.description).toBe('Number greater than 0. Default: null.');
    expect(patternOf(schema)).toEqual({ accepted: ['5', '1_000', ' 7 ', '${N}', '8${N}'], refused: ['five', ''] });
  });

  it.each<[string, z.ZodType, string, string[]]>([
    ['an integer', orNull(integer({ min: 1 })), '7', ['seven', 'nulls', '']],
    ['a number', orNull(seconds()), '0.5', ['half', 'a null']],
    ['a boolean', orNull(flag()), 'off', ['maybe', 'nul']],
    ['a size', orNull(bytes({ min: 0 })), '5Mi', ['5Zi', 'nullMi']],
  ])('%s that can be null can be the text null', (_, schema, also, refused) => {
    const structural = file(schema);
    const pattern = new RegExp(String(structural['pattern']));
    expect(structural.nullable).toBe(true);
    expect(['null', ' NULL ', '${N}', also].filter((one) => !pattern.test(one))).toEqual([]);
    expect(refused.filter((one) => pattern.test(one))).toEqual([]);
  });

  it('a word that can be null can be the text null', () => {
    expect(file(orNull(oneOf(['on'])))).toMatchObject({
      type: 'string',
      anyOf: [{ enum: ['on', null] }, { pattern: REFERENCE }, { pattern: expect.stringContaining('[Nn][Uu][Ll][Ll]') }],
      nullable: true,
    });
  });

  it('a text cannot be null as text: it may be meant', () => {
    expect(() => file(orNull(text()))).toThrow('null as text');
  });

  it('a boolean has no type, but 0 and 1 and words', () => {
    const schema = file(flag().prefault(true));
    expect(schema).toMatchObject({
      'x-kubernetes-preserve-unknown-fields': true,
      minimum: 0,
      maximum: 1,
      multipleOf: 1,
    });
    expect(schema.description).toBe('Boolean. Default: true.');
    const pattern = new RegExp(String(schema['pattern']));
    expect(['yes', 'Off', '1', '${ON:-no}'].every((one) => pattern.test(one))).toBe(true);
    expect(['maybe', '2', ''].some((one) => pattern.test(one))).toBe(false);
  });

  it('a size is an integer or a text with a unit', () => {
    const schema = file(bytes({ min: 1 }).prefault('1Mi'));
    expect(schema).toMatchObject({ ...INT_OR_STRING, minimum: 1 });
    expect(schema.description).toBe('Bytes, such as 1048576, `10M` or `10Mi`. Default: `1Mi`.');
    const pattern = new RegExp(String(schema['pattern']));
    expect(['10', '10 mb', '${SIZE}Mi'].every((one) => pattern.test(one))).toBe(true);
    expect(['ten', '10Zi'].some((one) => pattern.test(one))).toBe(false);
  });

  it('a section or a list may stand without a value', () => {
    const schema = file(
      z.strictObject({
        section: maybeEmpty(z.strictObject({ a: text() }).prefault({ a: '' })),
        list: maybeEmpty(listOf(text()).prefault([])),
        needed: listOf(text()),
      }),
    );
    expect(schema.properties).toMatchObject({ section: { nullable: true }, list: { nullable: true } });
    expect(schema.properties?.['needed']?.nullable).toBeUndefined();
    expect(schema.required).toEqual(['needed']);
  });

  it('kinds of objects become one object, and a choice of what goes together', () => {
    const kinds = z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('a').describe('`a`: an a.'),
        both: text().describe('Both.'),
        one: integer({ min: 0 }),
      }),
      z.strictObject({
        type: z.literal('b').describe('`b`: a b.'),
        both: text().describe('Both.').nullable().prefault(null),
      }),
    ]);
    expect(file(kinds)).toEqual({
      type: 'object',
      properties: {
        type: { description: '`a`: an a. `b`: a b.', type: 'string', enum: ['a', 'b'] },
        both: { description: 'Both. Default: null.', type: 'string', nullable: true },
        one: expect.objectContaining(INT_OR_STRING),
      },
      oneOf: [
        { properties: { type: { enum: ['a'] } }, required: ['type', 'both', 'one'] },
        { properties: { type: { enum: ['b'] } }, required: ['type'] },
      ],
    });
  });
});

/** Texts for numbers that a pattern accepts and refuses. */
function patternOf(schema: StructuralSchema): { accepted: string[]; refused: string[] } {
  const pattern = new RegExp(String(schema['pattern']));
  const texts = ['5', '1_000', ' 7 ', '${N}', '8${N}', 'five', ''];
  return { accepted: texts.filter((one) => pattern.test(one)), refused: texts.filter((one) => !pattern.test(one)) };
}

describe('what has no structural form is an error that names the place', () => {
  it.each<[string, JsonSchema, string]>([
    ['an unknown keyword', { type: 'string', contentEncoding: 'base64' }, 'contentEncoding'],
    ['a reference to a definition', { $ref: '#/$defs/a' }, '$ref'],
    ['an unknown format', { type: 'string', format: 'emoji' }, 'emoji'],
    ['a pattern that looks around', { type: 'string', pattern: '^(?!a)' }, '(?!a)'],
    ['a pattern with a back-reference', { type: 'string', pattern: String.raw`(a)\1` }, 'pattern'],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }, 'prefixItems'],
    ['null alone', { type: 'null' }, 'null'],
    ['a string or an object', { anyOf: [{ type: 'string' }, { type: 'object' }] }, 'string and object'],
    ['a string or a boolean', { anyOf: [{ type: 'string' }, { type: 'boolean' }] }, 'string and boolean'],
    ['a choice of objects without a tag', { oneOf: [{ type: 'object', properties: {} }] }, 'tells the branches apart'],
  ])('%s', (_, schema, says) => {
    const document: JsonSchema = { type: 'object', properties: { outer: { type: 'array', items: schema } } };
    const convert = () => structuralSchema(document, { references: false });
    expect(convert).toThrow('outer[]');
    expect(convert).toThrow(says);
  });
});

describe('the real schemas', () => {
  const all: [string, z.ZodType][] = [
    ['AdapterConfig', AdapterConfig],
    ['Source', Source],
    ['ScraperSettings', ScraperSettings.partial()],
  ];

  it.each(all)('%s has no default and a description for every field', (_, schema) => {
    const fields = [...fieldsOf(file(schema))];
    expect(fields.length).toBeGreaterThan(20);
    for (const [path, field] of fields) {
      expect(field.default, path).toBeUndefined();
      expect(field.description, path).toMatch(/\S/);
    }
  });

  it('a section that may be null in the API server may be null in the adapter', () => {
    const server = { id: 'a', mount_path: '/a', upstream: { url: 'http://a' } };
    for (const [path, { type, nullable }] of fieldsOf(file(AdapterConfig))) {
      if (nullable !== true || (type !== 'object' && type !== 'array') || path.includes('[]')) continue;
      const nested = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), null);
      const document = nested as { core?: object };
      const core = { public_base_url: 'http://a', ...document.core };
      const { error } = AdapterConfig.safeParse({ servers: [server], ...document, core });
      // What else would have to stand beside it is missing, which is another matter.
      expect(error?.issues.filter((issue) => issue.path.join('.') === path) ?? [], path).toEqual([]);
    }
  });
});

function* fieldsOf(schema: StructuralSchema, path = ''): Generator<[string, StructuralSchema]> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`;
    yield [at, field];
    yield* fieldsOf(field, at);
    if (field.items !== undefined) yield* fieldsOf(field.items, `${at}[]`);
  }
}
