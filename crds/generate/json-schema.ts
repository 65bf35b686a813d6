import { isObject } from '../../lib/json/json-object.ts';
import { z } from 'zod';
import { NULL_AS_TEXT } from '../config/values/values.ts';

/** A piece of a JSON Schema. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The JSON Schema of what a user writes, without the bounds that only say "a safe integer". */
export function inputSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
}

/** Texts that the loader takes for a reference, a number, null and a boolean. */
const REFERENCE = String.raw`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`;
export const NUMBER = String.raw`^\s*[+-]?[0-9_]*\.?[0-9_]+([eE][+-]?[0-9]+)?\s*$`;
export const NULL = String.raw`^\s*[Nn][Uu][Ll][Ll]\s*$`;
export const BOOLEAN = String.raw`^\s*([Tt]([Rr][Uu][Ee])?|[Ff]([Aa][Ll][Ss][Ee])?|[Yy]([Ee][Ss])?|[Nn][Oo]?|[Oo][Nn]|[Oo][Ff][Ff]|[01])\s*$`;

/**
 * The same schema, but every value may also be a text that holds `${VAR}`, and a number, a boolean or null may
 * stand in quotes, as the loader allows.
 */
export function acceptReferences(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, anyOf, oneOf, [NULL_AS_TEXT]: nullAsText, ...rest } = schema;
  const walked: JsonSchema = { ...rest };
  if (properties !== undefined) walked.properties = mapValues(properties, acceptReferences);
  if (isSchema(items)) walked.items = acceptReferences(items);
  if (additionalProperties !== undefined) {
    walked.additionalProperties = isSchema(additionalProperties)
      ? acceptReferences(additionalProperties)
      : additionalProperties;
  }
  if (anyOf !== undefined) walked.anyOf = anyOf.map((branch) => acceptReferences(branch));
  if (nullAsText === true) walked.anyOf = [...(walked.anyOf ?? []), { type: 'string', pattern: NULL }];
  if (oneOf !== undefined) walked.oneOf = oneOf.map((branch) => acceptReferences(branch));
  return withTextForms(walked);
}

/** A scalar with a rule of its own becomes a choice between that rule and its text forms. */
function withTextForms(schema: JsonSchema): JsonSchema {
  const forms = textForms(schema);
  if (forms.length === 0) return schema;
  const { title, description, default: fallback, ...rule } = schema;
  const outside = Object.fromEntries(
    Object.entries({ title, description, default: fallback }).filter(([, value]) => value !== undefined),
  );
  return { ...outside, anyOf: [rule, ...forms.map((pattern) => ({ type: 'string' as const, pattern }))] };
}

function textForms({ type, enum: words, pattern }: JsonSchema): string[] {
  if (type === 'integer' || type === 'number') return [NUMBER, REFERENCE];
  if (type === 'boolean') return [BOOLEAN, REFERENCE];
  return type === 'string' && (words !== undefined || pattern !== undefined) ? [REFERENCE] : [];
}

export const isSchema = (value: unknown): value is JsonSchema => isObject(value);

function mapValues(properties: Record<string, unknown>, change: (schema: JsonSchema) => JsonSchema) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, isSchema(value) ? change(value) : {}]),
  );
}
