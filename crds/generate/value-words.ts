import type { JsonSchema } from './json-schema.ts';

/**
 * The description of a field, with what a structural schema cannot say or `kubectl explain` does not show: its type in a
 * configuration file (where everything may be text too), its words, and its default.
 */
export function describe(schema: JsonSchema, { references }: { readonly references: boolean }): string {
  const meaning = schema.description?.replace(/^\(new\) /, '');
  const sentences = references
    ? [typeOf(schema), meaning, wordsOf(schema), defaultOf(schema)]
    : [meaning, defaultOf(schema)];
  return sentences.filter((sentence) => sentence !== undefined).join(' ');
}

function typeOf(schema: JsonSchema): string | undefined {
  const { type, anyOf } = schema;
  if (type === 'boolean') return 'Boolean.';
  if (type === 'integer' || type === 'number') {
    return `${type === 'integer' ? 'Integer' : 'Number'}${range(schema)}.`;
  }
  if (!anyOf?.some((branch) => branch.type === 'integer')) return undefined;
  // A size is the only choice between an integer and a text with a rule.
  const isSize = anyOf.some(({ pattern }) => pattern !== undefined);
  return isSize ? 'Bytes, such as 1048576, `10M` or `10Mi`.' : 'Integer or text.';
}

function range({ minimum, maximum, exclusiveMinimum: above }: JsonSchema): string {
  if (above !== undefined) return ` greater than ${above}`;
  if (minimum === undefined) return maximum === undefined ? '' : ` of at most ${maximum}`;
  return maximum === undefined ? ` of at least ${minimum}` : ` from ${minimum} to ${maximum}`;
}

/** Where no reference is allowed, words stay an enum, which `kubectl explain` lists. */
function wordsOf({ enum: words }: JsonSchema): string | undefined {
  if (words === undefined) return undefined;
  const texts = words.map(String);
  const different = texts.filter((word) => word === word.toLowerCase() || !texts.includes(word.toLowerCase()));
  return `One of ${different.map((word) => `\`${word}\``).join(', ')}.`;
}

function defaultOf({ default: value }: JsonSchema): string | undefined {
  if (value === undefined || isEmpty(value)) return undefined;
  return `Default: ${typeof value === 'string' ? `\`${value}\`` : JSON.stringify(value)}.`;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
