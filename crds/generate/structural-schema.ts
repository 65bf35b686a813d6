import { NULL_AS_TEXT } from '../config/values/values.ts';
import { BOOLEAN, type JsonSchema, NULL, NUMBER, isSchema } from './json-schema.ts';
import { describe } from './value-words.ts';

/** A piece of a structural schema: what a CustomResourceDefinition may say about a value. */
export interface StructuralSchema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  description?: string;
  properties?: Record<string, StructuralSchema>;
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  anyOf?: StructuralSchema[];
  oneOf?: StructuralSchema[];
  enum?: unknown[];
  required?: string[];
  nullable?: boolean;
  default?: unknown;
  [keyword: string]: unknown;
}

export interface StructuralOptions {
  /** The values are those of a configuration file: any may hold `${VAR}`, numbers and booleans may stand as text. */
  readonly references: boolean;
}

/**
 * The structural schema of a JSON Schema. Kubernetes knows a part of JSON Schema only, so what merely documents becomes
 * words in the description, what only the programs can check is left to them, and what is not known here is an error.
 * Source: Kubernetes, "Extend the Kubernetes API with CustomResourceDefinitions", section "Specifying a structural schema".
 */
export function structuralSchema(schema: JsonSchema, options: StructuralOptions, path = ''): StructuralSchema {
  const { inner, nullable } = withoutNull(schema);
  refuseUnknown(inner, path);
  const kind = withNullAsText(inner, shape(inner, options, path), path);
  // A section or a list whose key stands without a value has its defaults.
  const mayBeEmpty = options.references && inner.default !== undefined && isContainer(kind);
  const description = describe(inner, options);
  return withNull(
    {
      ...(description === '' ? {} : { description }),
      ...kind,
      ...kubernetesWords(inner),
    },
    nullable || mayBeEmpty,
  );
}

const isContainer = ({ type }: StructuralSchema): boolean => type === 'object' || type === 'array';

/** What is taken over, or becomes something else below. */
const KNOWN = new Set(
  (
    `${NULL_AS_TEXT} ` +
    'type description default properties required additionalProperties items anyOf oneOf enum const pattern format ' +
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems'
  ).split(' '),
);
/** What has no meaning in a CustomResourceDefinition, or is checked by the programs. */
const DROPPED = new Set(['$schema', 'title', 'examples', 'readOnly', 'deprecated', 'propertyNames']);

function refuseUnknown(schema: JsonSchema, path: string): void {
  const unknown = Object.keys(schema).filter(
    (key) => !KNOWN.has(key) && !DROPPED.has(key) && !key.startsWith('x-kubernetes-'),
  );
  if (unknown.length > 0) throw cannot(path, `the keyword ${unknown.join(', ')}`);
}

const cannot = (path: string, what: string): Error =>
  new Error(`${path === '' ? 'the schema' : path}: ${what} has no structural form`);

const kubernetesWords = (schema: JsonSchema) =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => key.startsWith('x-kubernetes-')));

function shape(schema: JsonSchema, options: StructuralOptions, path: string): StructuralSchema {
  if (schema.oneOf !== undefined) return oneOfObjects(schema.oneOf, options, path);
  if (schema.anyOf !== undefined) return anyOfScalars(schema.anyOf, options, path);
  switch (schema.type) {
    case undefined:
      if (schema.enum !== undefined || schema.const !== undefined) throw cannot(path, 'an enum without a type');
      // Null is something too; where a schema does not allow it, the API server drops it.
      return { 'x-kubernetes-preserve-unknown-fields': true, nullable: true };
    case 'object':
      return object(schema, options, path);
    case 'array':
      if (!isSchema(schema.items)) throw cannot(path, 'a list without items');
      return {
        type: 'array',
        ...only(schema, ['minItems', 'maxItems']),
        items: structuralSchema(schema.items, options, `${path}[]`),
      };
    case 'string':
      return { type: 'string', ...textRules([stringRule(schema, path)], options) };
    case 'integer':
      return options.references
        ? { ...INT_OR_STRING, ...bounds(schema), pattern: either(NUMBER) }
        : { type: 'integer', ...bounds(schema) };
    case 'number':
      return options.references ? scalar(bounds(schema), NUMBER) : { type: 'number', ...bounds(schema) };
    case 'boolean':
      return options.references ? scalar({ minimum: 0, maximum: 1, multipleOf: 1 }, BOOLEAN) : { type: 'boolean' };
    default:
      throw cannot(path, `the type ${String(schema.type)}`);
  }
}

function object(schema: JsonSchema, options: StructuralOptions, path: string): StructuralSchema {
  const { properties, additionalProperties: others } = schema;
  if (isSchema(others) && Object.keys(others).length > 0) {
    if (properties !== undefined) throw cannot(path, 'an object with both properties and others');
    return { type: 'object', additionalProperties: structuralSchema(others, options, `${path}.*`) };
  }
  return {
    type: 'object',
    ...(properties === undefined ? {} : { properties: mapped(properties, options, path) }),
    ...only(schema, ['required']),
    // `strictObject` says false; the API server drops unknown fields and kubectl reports them.
    ...(others === false || others === undefined ? {} : { 'x-kubernetes-preserve-unknown-fields': true }),
  };
}

function mapped(properties: Record<string, unknown>, options: StructuralOptions, path: string) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => {
      const at = path === '' ? name : `${path}.${name}`;
      if (!isSchema(field)) throw cannot(at, String(field));
      return [name, structuralSchema(field, options, at)];
    }),
  );
}

/** Every value of a branch must be declared outside; what remains of the branches is which of them go together. */
function oneOfObjects(branches: readonly JsonSchema[], options: StructuralOptions, path: string): StructuralSchema {
  const merged: Record<string, StructuralSchema> = {};
  const rules = branches.map((branch): StructuralSchema => {
    if (branch.type !== 'object') throw cannot(path, 'oneOf with something that is no object');
    const tags: Record<string, StructuralSchema> = {};
    for (const [name, field] of Object.entries(branch.properties ?? {})) {
      const at = `${path}.${name}`;
      if (!isSchema(field)) throw cannot(at, String(field));
      if (field.const !== undefined) tags[name] = { enum: [field.const] };
      const converted =
        field.const === undefined
          ? structuralSchema(field, options, at)
          : { ...only(field, ['description']), type: 'string' as const, enum: [field.const] };
      merged[name] = together(merged[name], converted, at);
    }
    if (Object.keys(tags).length === 0) throw cannot(path, 'oneOf without a field that tells the branches apart');
    return { properties: tags, ...only(branch, ['required']) };
  });
  return { type: 'object', properties: merged, oneOf: rules };
}

function together(earlier: StructuralSchema | undefined, later: StructuralSchema, path: string): StructuralSchema {
  if (earlier === undefined) return later;
  const { description: one = '', enum: words, nullable, ...rest } = earlier;
  const { description: other = '', enum: otherWords, nullable: alsoNullable, ...otherRest } = later;
  if (JSON.stringify(rest) !== JSON.stringify(otherRest)) throw cannot(path, 'a field with two meanings');
  const all = [...new Set([...(words ?? []), ...(otherWords ?? [])])];
  const description = one.startsWith(other) ? one : other.startsWith(one) ? other : `${one} ${other}`;
  return {
    ...(description === '' ? {} : { description }),
    ...rest,
    ...(all.length === 0 ? {} : { enum: all }),
    // Only the programs can say in which branch.
    ...(nullable === true || alsoNullable === true ? { nullable: true } : {}),
  };
}

function anyOfScalars(branches: readonly JsonSchema[], options: StructuralOptions, path: string): StructuralSchema {
  for (const branch of branches) refuseUnknown(branch, path);
  const types = new Set(branches.map(({ type }) => type));
  const texts = branches.filter(({ type }) => type === 'string').map((branch) => stringRule(branch, path));
  if (types.size === 1 && types.has('string')) return { type: 'string', ...textRules(texts, options) };
  const [integer, ...others] = branches.filter(({ type }) => type === 'integer');
  if (types.size === 2 && integer !== undefined && others.length === 0 && texts.length > 0) {
    const patterns = texts.map(({ pattern }) => pattern);
    if (patterns.every((one) => typeof one === 'string')) {
      const pattern = options.references ? either(...patterns) : patterns.join('|');
      return { ...INT_OR_STRING, ...bounds(integer), pattern };
    }
    if (Object.keys(texts[0] ?? {}).length === 0) return { ...INT_OR_STRING, ...bounds(integer) };
  }
  throw cannot(path, `anyOf of ${[...types].map(String).join(' and ')}`);
}

const INT_OR_STRING: StructuralSchema = {
  'x-kubernetes-int-or-string': true,
  anyOf: [{ type: 'integer' }, { type: 'string' }],
};

/** Text in which a reference starts. The programs read it in full. */
const REFERENCE = String.raw`\$\{[A-Za-z_]`;
const either = (...patterns: string[]): string => [...patterns, REFERENCE].join('|');

/**
 * A number or a boolean that may stand as text. Kubernetes has no type for that, so it has none: a pattern judges texts
 * only, bounds judge numbers only, and lists and objects must be empty, which is as far as they can be refused here.
 */
function scalar(rules: StructuralSchema, pattern: string): StructuralSchema {
  return {
    'x-kubernetes-preserve-unknown-fields': true,
    ...rules,
    pattern: either(pattern),
    maxItems: 0,
    maxProperties: 0,
  };
}

/** The rules of a string, of which one must hold; in a configuration file, a reference is always allowed. */
function textRules(rules: readonly StructuralSchema[], { references }: StructuralOptions): StructuralSchema {
  const [first = {}, ...others] = rules;
  if (rules.some((rule) => Object.keys(rule).length === 0)) return {};
  if (others.length === 0 && (!references || first['pattern'] === String.raw`\S`)) return first;
  return { anyOf: references ? [...rules, { pattern: REFERENCE }] : [...rules] };
}

const FORMATS = new Set(['date-time', 'date', 'uri', 'email', 'ipv4', 'ipv6', 'hostname', 'uuid']);
/** What zod calls a format but is a pattern. */
const NO_FORMATS = new Set(['starts_with', 'ends_with', 'includes', 'regex']);

function stringRule(schema: JsonSchema, path: string): StructuralSchema {
  const { format, pattern, const: word } = schema;
  if (format !== undefined && !FORMATS.has(format) && !NO_FORMATS.has(format))
    throw cannot(path, `the format ${format}`);
  const hasFormat = format !== undefined && FORMATS.has(format);
  if (pattern !== undefined && !hasFormat && !isRe2(pattern)) throw cannot(path, `the pattern ${pattern}`);
  return {
    ...only(schema, ['minLength', 'maxLength', 'enum']),
    ...(word === undefined ? {} : { enum: [word] }),
    // The API server knows these formats; patterns of formats look around, which its engine cannot.
    ...(hasFormat ? { format } : pattern === undefined ? {} : { pattern }),
  };
}

/** Go's engine has neither look-around nor back-references. */
const isRe2 = (pattern: string): boolean => !/\(\?(=|!|<=|<!)|\\[1-9]|\\k</.test(pattern);

function bounds({ minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf }: JsonSchema) {
  return {
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
    ...(above === undefined ? {} : { minimum: above, exclusiveMinimum: true }),
    ...(below === undefined ? {} : { maximum: below, exclusiveMaximum: true }),
    ...(multipleOf === undefined ? {} : { multipleOf }),
  };
}

/** Takes null off a schema, wherever it stands, and keeps what is said about it outside. A list of types is a choice. */
function withoutNull(schema: JsonSchema): { inner: JsonSchema; nullable: boolean } {
  const { type, anyOf, ...rest } = schema;
  if (Array.isArray(type)) {
    const [first, ...others] = type.filter((one) => one !== 'null');
    const choice = others.length === 0 ? { type: first } : { anyOf: [first, ...others].map((one) => ({ type: one })) };
    return { inner: { ...rest, ...choice }, nullable: type.includes('null') };
  }
  const others = anyOf?.filter((branch) => branch.type !== 'null') ?? [];
  if (anyOf === undefined || others.length === anyOf.length) return { inner: schema, nullable: false };
  const [only] = others;
  const inner = others.length === 1 ? withoutNull({ ...only, ...rest }).inner : { ...rest, anyOf: others };
  return { inner, nullable: true };
}

/** Lets a value that text can stand for be the text `null` as well. */
function withNullAsText(schema: JsonSchema, kind: StructuralSchema, path: string): StructuralSchema {
  if (schema[NULL_AS_TEXT] !== true) return kind;
  if (typeof kind['pattern'] === 'string') return { ...kind, pattern: `${kind['pattern']}|${NULL}` };
  if (kind.type === 'string' && kind.anyOf !== undefined) return { ...kind, anyOf: [...kind.anyOf, { pattern: NULL }] };
  throw cannot(path, 'null as text beside such a value');
}

/** An enum must name null too, or the API server refuses it. */
function withNull(schema: StructuralSchema, nullable: boolean): StructuralSchema {
  if (!nullable) return schema;
  const { enum: words, anyOf } = schema;
  return {
    ...schema,
    ...(words === undefined ? {} : { enum: [...words, null] }),
    ...(anyOf === undefined
      ? {}
      : {
          anyOf: anyOf.map((branch) =>
            branch.enum === undefined ? branch : { ...branch, enum: [...branch.enum, null] },
          ),
        }),
    nullable: true,
  };
}

function only<K extends keyof JsonSchema>(schema: JsonSchema, keys: readonly K[]): Pick<JsonSchema, K> {
  const found: Partial<Pick<JsonSchema, K>> = {};
  for (const key of keys) if (schema[key] !== undefined) found[key] = schema[key];
  return found as Pick<JsonSchema, K>;
}
