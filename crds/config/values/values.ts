import { z } from 'zod';

/**
 * The kinds of values that configuration files hold. Each kind has one message: a phrase saying what is allowed, which
 * completes "must be …". Text is converted where a number or a boolean is wanted, because `${VAR}` always gives text.
 */

const NUMBER = /^[+-]?(\d+(_\d+)*(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

const numberOfText = (value: number | string): unknown => {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  return NUMBER.test(text) ? Number(text.replaceAll('_', '')) : value;
};

const TRUE = new Set(['true', 'yes', 'on', '1', 't', 'y']);
const FALSE = new Set(['false', 'no', 'off', '0', 'f', 'n']);

const booleanOfText = (value: boolean | string | 0 | 1): unknown => {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const text = String(value).trim().toLowerCase();
  return TRUE.has(text) ? true : FALSE.has(text) ? false : value;
};

/** A conversion of text that leaves every other value to the schema behind it, which says what is wrong with it. */
export function onText(convert: (text: string) => string) {
  return (value: string): unknown => (typeof value === 'string' ? convert(value) : value);
}

const trim = onText((text) => text.trim());
const trimAndLowerCase = onText((text) => text.trim().toLowerCase());
const falseAsOff = (value: string | false): unknown => (value === false ? 'off' : value);
const blankAsNull = (value: string | null): unknown => (typeof value === 'string' ? value.trim() || null : value);

/** An integer from `min` to `max`. Numeric text is converted. */
export function integer({ min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }) {
  const error =
    max !== Number.MAX_SAFE_INTEGER
      ? `an integer from ${min} to ${max}`
      : min === 1
        ? 'an integer greater than 0'
        : min === Number.MIN_SAFE_INTEGER
          ? 'an integer'
          : `an integer of at least ${min}`;
  return z.preprocess(numberOfText, z.int({ error }).min(min, { error }).max(max, { error }));
}

/** A number greater than 0, or at least 0 with `orZero`. Fractions are allowed, numeric text is converted. */
export function seconds({ orZero = false }: { orZero?: boolean } = {}) {
  const error = orZero ? 'a number of at least 0' : 'a number greater than 0';
  const number = z.number({ error });
  return z.preprocess(numberOfText, orZero ? number.min(0, { error }) : number.gt(0, { error }));
}

/** Any finite number. Numeric text is converted. */
export function number() {
  return z.preprocess(numberOfText, z.number({ error: 'a number' }));
}

/** A number from 0 to 1. Numeric text is converted. */
export function fraction() {
  const error = 'a number from 0 to 1';
  return z.preprocess(numberOfText, z.number({ error }).min(0, { error }).max(1, { error }));
}

/** A boolean. The texts that YAML 1.1 reads as booleans, and 1 and 0, are converted. */
export function flag() {
  return z.preprocess(booleanOfText, z.boolean({ error: 'true or false' }));
}

/** One of the words. Where `off` is one, false means it too: YAML 1.1 tools write a bare `off` so. */
export function oneOf<const T extends readonly [string, ...string[]]>(words: T) {
  return z.preprocess(falseAsOff, z.enum(words, { error: `one of ${words.join(', ')}` }));
}

/** One of the words in any letter case. A JSON Schema cannot say that, so it lists the two usual forms. */
export function oneOfAnyCase<const T extends readonly [string, ...string[]]>(words: T) {
  const written = words.flatMap((word) => [word, word.toUpperCase()]);
  return z.preprocess(trimAndLowerCase, z.enum(words, { error: `one of ${words.join(', ')}` }).meta({ enum: written }));
}

/** Any string, taken as it is. */
export function text(allowed = 'a string') {
  return z.string({ error: allowed });
}

/** A string that holds more than white space, taken as it is. */
export function nonBlank(allowed = 'a non-blank string') {
  return z.string({ error: allowed }).regex(/\S/, { error: allowed });
}

/** A string without the white space around it, which must leave something. */
export function trimmed(allowed = 'a non-blank string') {
  return z.preprocess(trim, nonBlank(allowed));
}

/** As `trimmed`, and the result must pass the check. */
export function trimmedAnd(allowed: string, check: (value: string) => boolean) {
  return z.preprocess(trim, nonBlank(allowed).refine(check, { error: allowed }));
}

/** A trimmed string or null; blank text means null. The result must pass the check. */
export function trimmedOrNull(allowed = 'a string or null', check: (value: string) => boolean = () => true) {
  return z.preprocess(blankAsNull, z.string({ error: allowed }).refine(check, { error: allowed }).nullable());
}

/** Marks, in a JSON Schema, a value that may also be the text `null`. */
export const NULL_AS_TEXT = 'x-null-as-text';

/** The text `null` means null, because `kubectl apply` drops a bare one. Every other value stays as it is. */
export const nullOfText = (value: unknown): unknown =>
  typeof value === 'string' && value.trim().toLowerCase() === 'null' ? null : value;

/** The value or null, which may also be written as text. For everything but strings, where `null` may be meant. */
export function orNull<T extends z.ZodType>(schema: T) {
  const read = (value: z.input<T> | null): unknown => nullOfText(value);
  return z.preprocess(read, schema.nullable()).meta({ [NULL_AS_TEXT]: true });
}

/** What `orNull` was given; undefined for any other schema. */
export function withoutNull(schema: z.ZodType): z.core.$ZodType | undefined {
  if (schema.meta()?.[NULL_AS_TEXT] !== true || !(schema instanceof z.ZodPipe)) return undefined;
  return schema.out instanceof z.ZodNullable ? schema.out.unwrap() : undefined;
}

/** A list whose entries are all of one kind. */
export function listOf<T extends z.ZodType>(item: T, allowed = 'a list of strings') {
  return z.array(item, { error: allowed });
}

/**
 * Lets a key stand without a value, as in `uploads:` with every line below it commented out: the default applies.
 * For sections, lists and maps; the schema must have a default.
 */
export function maybeEmpty<T extends z.ZodType>(schema: T) {
  const read = (value: z.input<T> | null): unknown => (value === null ? undefined : value);
  return z.preprocess(read, schema);
}
