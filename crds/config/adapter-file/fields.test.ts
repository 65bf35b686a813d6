import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inputSchema } from '../../generate/json-schema.ts';
import { AdapterConfig } from './adapter.ts';
import { get, load, problemsOf, put, sampleWith, toYaml } from '../testing/adapter-config.ts';
import { leaves } from '../testing/schema-leaves.ts';
import { NULL_AS_TEXT } from '../values/values.ts';

/** The table of all fields, `testdata/adapter-fields.yaml`: what it holds is explained there. */
const Field = z.strictObject({
  required: z.literal(true).optional(),
  absent: z.literal(true).optional(),
  inherits: z.string().optional(),
  default: z.unknown().optional(),
  with: z.record(z.string(), z.unknown()).default({}),
  accept: z.array(z.tuple([z.unknown(), z.unknown()])).default([]),
  reject: z.array(z.tuple([z.unknown(), z.string()]).rest(z.string())).default([]),
});

const file = new URL('../../testdata/adapter-fields.yaml', import.meta.url);
const written = z.record(z.string(), Field).parse(parse(readFileSync(file, 'utf8')));

const fields = Object.entries(written).map(([path, field]) => {
  if (field.inherits === undefined) return { path, ...field };
  const original = written[field.inherits];
  if (original === undefined) throw new Error(`${path} inherits ${field.inherits}, which is not in the table`);
  return {
    ...original,
    path,
    default: null,
    accept: [...original.accept, [null, null] satisfies [unknown, unknown]],
    reject: original.reject.filter(([value]) => value !== null),
  };
});

/** A sample with an entry in each list. */
const fullSampleWith = (values: Record<string, unknown>): Record<string, unknown> =>
  sampleWith({
    'core.auth': { tokens: [{ name: 'ci', token: 'token-of-ci' }] },
    'core.limits': [{ per: 'caller', rate: '100/min' }],
    ...values,
  });

const all = leaves(inputSchema(AdapterConfig));
const shown = (value: unknown): string => toYaml(value);

describe('every field', () => {
  it('stands in the table', () => {
    expect(fields.map(({ path }) => path).sort()).toEqual(all.map(({ path }) => path).sort());
  });

  it.each(fields)('$path has something that it accepts and something that it refuses', (field) => {
    expect(field.absent === true || field.accept.length > 0).toBe(true);
    expect(field.reject.length).toBeGreaterThan(0);
  });
});

describe('a field that is not written', () => {
  const config = load(fullSampleWith({}));

  it.each(fields.filter(({ required, absent }) => !required && !absent))('$path has its default', (field) => {
    expect(get(config, field.path)).toEqual(field.default);
  });

  it.each(fields.filter(({ required }) => required))('$path is missed', ({ path }) => {
    const problems = problemsOf(toYaml(fullSampleWith({ [path]: undefined })));
    expect(problems.map((problem) => problem.path)).toEqual([path]);
    expect(problems[0]?.message).toMatch(/^is required: /);
  });

  it('shows nothing where it is only an old name', () => {
    expect(get(config, 'servers[0].adapters[1]')).not.toHaveProperty('include_raw_output');
  });
});

describe('a value that is allowed', () => {
  const cases = fields.flatMap(({ path, with: others, accept }) =>
    accept.map(([value, result]) => ({ path, others, value, result, name: `${path}: ${shown(value)}` })),
  );

  it.each(cases)('$name', ({ path, others, value, result }) => {
    const document = fullSampleWith(others);
    put(document, path, value);
    expect(get(load(document), path)).toEqual(result);
  });
});

describe('the text null', () => {
  const marked = new Set(all.filter(({ schema }) => schema[NULL_AS_TEXT] === true).map(({ path }) => path));
  const others = fields.filter(({ path, absent }) => !marked.has(path) && absent !== true);

  it.each(fields.filter(({ path, absent }) => marked.has(path) && absent !== true))('$path: means null', (field) => {
    for (const text of ['null', ' Null ', 'NULL']) {
      const document = fullSampleWith(field.with);
      put(document, field.path, text);
      expect(get(load(document), field.path)).toBeNull();
    }
    expect(problemsOf(toYaml(fullSampleWith({ [field.path]: 'nil' }))).map(({ path }) => path)).toEqual([field.path]);
  });

  it.each(others)('$path: is refused or is a text', ({ path, with: with_ }) => {
    const document = fullSampleWith(with_);
    put(document, path, 'null');
    const text = toYaml(document);
    if (problemsOf(text).length === 0) expect(get(load(document), path)).toMatch(/null/);
  });

  it('means null wherever null says something else than leaving the field out', () => {
    const differs = all.filter(({ schema, path }) => {
      const isNullable = schema.anyOf?.some(({ type }) => type === 'null') === true;
      return isNullable && (schema.default !== null || path.startsWith('servers[0].tool_'));
    });
    expect(differs.length).toBeGreaterThan(10);
    expect(differs.map(({ path }) => path).filter((path) => !marked.has(path))).toEqual([]);
  });
});

describe('a value that is refused', () => {
  const cases = fields.flatMap(({ path, reject }) =>
    reject.map(([value, part, at]) => ({ path, value, part, at: at ?? path, name: `${path}: ${shown(value)}` })),
  );

  it.each(cases)('$name', ({ path, value, part, at }) => {
    const problems = problemsOf(toYaml(fullSampleWith({ [path]: value })));
    expect(problems.map((problem) => problem.path)).toEqual([at]);
    expect(problems[0]?.message).toContain(part);
  });
});
