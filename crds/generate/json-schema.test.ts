import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bytes } from '../config/values/bytes.ts';
import { NULL_AS_TEXT, flag, integer, oneOf, orNull, seconds, text } from '../config/values/values.ts';
import { acceptReferences, inputSchema } from './json-schema.ts';

const Sample = z.strictObject({
  port: integer({ min: 1, max: 65_535 }).describe('The port.').prefault(80),
  count: integer({ min: 1 }).nullable().prefault(null),
  limit: orNull(seconds()).prefault(5),
  choice: orNull(oneOf(['a', 'b'])).prefault(null),
  most: orNull(bytes({ min: 0 })).prefault(null),
  wait: seconds().prefault(1),
  on: flag().prefault(true),
  mode: oneOf(['off', 'on']).prefault('off'),
  size: bytes({ min: 1 }).prefault('1Ki'),
  name: text().prefault(''),
  list: z.array(z.strictObject({ n: integer({ min: 0 }) })).prefault([]),
  map: z.record(z.string(), seconds()).prefault({}),
  kind: z.discriminatedUnion('type', [z.strictObject({ type: z.literal('a'), n: integer({ min: 0 }) })]).optional(),
});

describe('inputSchema', () => {
  it('says what a user may write, without bounds that are no rules', () => {
    const { properties } = inputSchema(Sample);
    expect(properties?.['port']).toEqual({
      description: 'The port.',
      default: 80,
      type: 'integer',
      minimum: 1,
      maximum: 65_535,
    });
    expect(properties?.['count']).toEqual({
      default: null,
      anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }],
    });
  });
});

describe('acceptReferences', () => {
  const schema = z.fromJSONSchema(acceptReferences(inputSchema(Sample)));
  const accepts = (value: unknown): boolean => schema.safeParse(value).success;

  it.each([
    {},
    { port: 80 },
    { port: '8080' },
    { port: '${PORT}' },
    { port: '80${PORT:-80}' },
    { count: null },
    { count: '${COUNT}' },
    { limit: null },
    { limit: ' NULL ' },
    { limit: '5' },
    { choice: 'Null' },
    { choice: 'b' },
    { most: 'null' },
    { most: null },
    { wait: '1.5' },
    { on: 'yes' },
    { on: '${ON:-no}' },
    { mode: 'off' },
    { mode: '${MODE}' },
    { size: '1Mi' },
    { size: 5 },
    { size: '${SIZE}Mi' },
    { name: 'any ${NAME}' },
    { list: [{ n: '${N}' }] },
    { map: { a: '1', b: 2, c: '${C}' } },
    { kind: { type: 'a', n: '${N}' } },
  ])('accepts %j', (value) => {
    expect(accepts(value)).toBe(true);
  });

  it.each([
    { port: 0 },
    { port: 'http' },
    { port: '' },
    { count: 0 },
    { count: 'null' },
    { limit: 'nul' },
    { limit: 0 },
    { choice: 'nul' },
    { most: 'nullB' },
    { on: 'maybe' },
    { mode: 'of' },
    { size: '1.5Mi' },
    { name: 5 },
    { list: [{ n: -1 }] },
    { list: [{ m: 1 }] },
    { map: { a: 'x' } },
    { kind: { type: 'b' } },
    { typo: 1 },
    { port: '${1X}' },
  ])('refuses %j', (value) => {
    expect(accepts(value)).toBe(false);
  });

  it('says of null in words that JSON Schema knows', () => {
    expect(JSON.stringify(acceptReferences(inputSchema(Sample)))).not.toContain(NULL_AS_TEXT);
  });

  it('keeps the description and the default outside of the choice', () => {
    expect(acceptReferences(inputSchema(Sample)).properties?.['port']).toMatchObject({
      description: 'The port.',
      default: 80,
    });
  });
});
