import { type JsonSchema, isSchema } from './json-schema.ts';

/** Renders a JSON Schema as Markdown: a heading and a table of fields for every section. */
export function fieldTables(schema: JsonSchema, name: string, level: number, kind = ''): string {
  const { inner, description = '' } = unwrapped(schema);
  const fields = Object.entries(inner.properties ?? {}).flatMap(([key, field]) =>
    isSchema(field) ? [{ key, field, required: inner.required?.includes(key) ?? false }] : [],
  );
  const rows = fields.filter(({ field }) => sectionsIn(field).length === 0);
  const nested = fields.flatMap(({ key, field }) =>
    sectionsIn(field).map((one) =>
      fieldTables(one.section, `${name}.${key}${one.suffix}`, level + 1, one.kind ?? kind),
    ),
  );
  const heading = `${'#'.repeat(Math.min(level, 6))} \`${name}\`${kind === '' ? '' : ` of type \`${kind}\``}`;
  const table =
    rows.length === 0
      ? []
      : [
          [
            '| Field | Type | Default | Allowed | Meaning |',
            '| --- | --- | --- | --- | --- |',
            ...rows.map(({ key, field, required }) => row(key, field, required)),
          ].join('\n'),
        ];
  return [heading, ...(description === '' ? [] : [description]), ...table, ...nested].join('\n\n');
}

/** The sections that a field holds: itself, the entries of a list, or each kind of entry. */
export function sectionsIn(field: JsonSchema): { section: JsonSchema; suffix: string; kind?: string }[] {
  const { inner, description } = unwrapped(field);
  const described = (section: JsonSchema): JsonSchema => ({
    ...section,
    description: section.description ?? description,
  });
  if (inner.properties !== undefined) return [{ section: described(inner), suffix: '' }];
  if (inner.oneOf !== undefined) {
    return inner.oneOf.map((kind) => ({ section: described(kind), suffix: '', kind: kindOf(kind) }));
  }
  if (inner.type !== 'array' || !isSchema(inner.items)) return [];
  const kinds = inner.items.oneOf ?? [];
  if (inner.items.properties !== undefined) return [{ section: described(inner.items), suffix: '[]' }];
  return kinds.map((kind) => ({ section: described(kind), suffix: '[]', kind: kindOf(kind) }));
}

function kindOf(schema: JsonSchema): string {
  const tag = schema.properties?.['type'];
  return isSchema(tag) ? String(tag.const) : '';
}

function row(key: string, field: JsonSchema, required: boolean): string {
  const { inner, nullable, description = '' } = unwrapped(field);
  const type = `${typeOf(inner)}${nullable ? ' or null' : ''}`;
  // The API server must not fill in defaults, so the kinds' own fields only tell them.
  const told = / ?Default: (.+)\.$/.exec(description);
  const known = field.default === undefined ? (told?.[1] ?? '') : code(JSON.stringify(field.default));
  const meaning = field.default === undefined && told !== null ? description.slice(0, told.index) : description;
  return `| ${[code(key), type, required ? 'required' : known, allowedOf(inner), meaning].map(cell).join(' | ')} |`;
}

interface Unwrapped {
  inner: JsonSchema;
  nullable: boolean;
  description: string | undefined;
}

/** Takes null off a schema. */
function unwrapped(schema: JsonSchema): Unwrapped {
  const { anyOf, type, description } = schema;
  if (Array.isArray(type)) {
    const [first, ...others] = type.filter((one) => one !== 'null');
    const inner: JsonSchema = { ...schema, type: others.length === 0 ? first : undefined };
    if (others.length > 0) inner.anyOf = [first, ...others].map((one) => ({ type: one }));
    return { inner, nullable: type.includes('null'), description };
  }
  const others = anyOf?.filter((branch) => branch.type !== 'null');
  const [only] = others ?? [];
  if (others?.length === 1 && only !== undefined && anyOf?.length === 2) {
    return { inner: unwrapped(only).inner, nullable: true, description: description ?? only.description };
  }
  return { inner: schema, nullable: false, description };
}

/** A part of a Kubernetes API, whose fields Kubernetes checks. */
const isAnything = (schema: unknown): boolean => isSchema(schema) && Object.keys(schema).length === 0;

/** The integer of a choice between an integer and a text, such as a size in bytes. */
const integerOf = (schema: JsonSchema): JsonSchema | undefined => schema.anyOf?.find(({ type }) => type === 'integer');

/** Only the text of a size may end with a B. */
const isSize = (schema: JsonSchema): boolean =>
  schema.anyOf?.some(({ pattern }) => pattern?.includes('[Bb]?') === true) === true;

function typeOf(schema: JsonSchema): string {
  if (integerOf(schema) !== undefined) return isSize(schema) ? 'bytes' : 'integer or string';
  if (schema.type === 'array') return `list of ${isSchema(schema.items) ? typeOf(schema.items) : 'value'}s`;
  if (schema.type === 'object') {
    const values = schema.additionalProperties;
    return isSchema(values) && !isAnything(values) ? `mapping from string to ${typeOf(values)}` : 'object';
  }
  return typeof schema.type === 'string' ? schema.type : 'value';
}

function allowedOf(schema: JsonSchema): string {
  const { const: only, enum: words, minimum, exclusiveMinimum, maximum } = integerOf(schema) ?? schema;
  if (only !== undefined) return code(String(only));
  if (words !== undefined) return differentWords(words.map(String)).map(code).join(', ');
  if (schema.minItems !== undefined) return `at least ${schema.minItems}`;
  if (schema.pattern === String.raw`\S`) return 'not blank';
  if (exclusiveMinimum !== undefined) return `> ${exclusiveMinimum}`;
  if (minimum === undefined) return '';
  if (maximum !== undefined) return `${minimum} to ${maximum}`;
  return minimum === 1 ? '> 0' : `>= ${minimum}`;
}

/** A word that stands in upper case too may be written in any case. */
const differentWords = (words: string[]): string[] =>
  words.filter((word) => word === word.toLowerCase() || !words.includes(word.toLowerCase()));

const code = (text: string): string => `\`${text}\``;

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');
