import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inputSchema, isSchema, type JsonSchema } from '../generate/json-schema.ts';
import { AdapterConfig } from './adapter.ts';
import { get, load, problemsOf, put, sample, sampleWith, toYaml } from './testing.ts';

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

const file = new URL('../testdata/adapter-fields.yaml', import.meta.url);
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

const shown = (value: unknown): string => toYaml(value);

describe('every field', () => {
  it('stands in the table', () => {
    expect(fields.map(({ path }) => path).sort()).toEqual(leaves(inputSchema(AdapterConfig), '').sort());
  });

  it.each(fields)('$path has something that it accepts and something that it refuses', (field) => {
    expect(field.absent === true || field.accept.length > 0).toBe(true);
    expect(field.reject.length).toBeGreaterThan(0);
  });
});

describe('a field that is not written', () => {
  const config = load(sample());

  it.each(fields.filter(({ required, absent }) => !required && !absent))('$path has its default', (field) => {
    expect(get(config, field.path)).toEqual(field.default);
  });

  it.each(fields.filter(({ required }) => required))('$path is missed', ({ path }) => {
    const problems = problemsOf(toYaml(sampleWith({ [path]: undefined })));
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
    const document = sampleWith(others);
    put(document, path, value);
    expect(get(load(document), path)).toEqual(result);
  });
});

describe('a value that is refused', () => {
  const cases = fields.flatMap(({ path, reject }) =>
    reject.map(([value, part, at]) => ({ path, value, part, at: at ?? path, name: `${path}: ${shown(value)}` })),
  );

  it.each(cases)('$name', ({ path, value, part, at }) => {
    const problems = problemsOf(toYaml(sampleWith({ [path]: value })));
    expect(problems.map((problem) => problem.path)).toEqual([at]);
    expect(problems[0]?.message).toContain(part);
  });
});

/** The paths of all fields of a schema, with index 0 for the entries of a list and 0, 1, … for kinds of entries. */
function leaves(schema: JsonSchema, path: string): string[] {
  if (schema.properties !== undefined) {
    const below = path === '' ? '' : `${path}.`;
    return Object.entries(schema.properties).flatMap(([key, field]) =>
      isSchema(field) ? leaves(field, `${below}${key}`) : [],
    );
  }
  const { items } = schema;
  if (isSchema(items) && items.properties !== undefined) return leaves(items, `${path}[0]`);
  if (isSchema(items) && items.oneOf !== undefined) {
    return items.oneOf.flatMap((kind, index) => leaves(kind, `${path}[${index}]`));
  }
  return [path];
}
