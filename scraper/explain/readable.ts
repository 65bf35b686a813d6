import { Scalar, stringify } from 'yaml';
import { createScrubber } from '../../lib/redaction/scrubber.ts';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { secretForms } from '../requests/excerpt.ts';

/** Shorter values occur by chance in ordinary text. */
const MIN_SECRET_CHARS = 4;
/** Nobody reads more of one text. */
const MAX_TEXT_CHARS = 2_000;
/** Control characters that YAML leaves as they are, and those that change the direction of writing. */
const UNSEEN = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Of lists and mappings in each other. */
const MAX_DEPTH = 20;

/**
 * A value as YAML for people, without any of these secrets, whichever text or name they are part of. What is too long
 * or too deep to read is cut off.
 */
export function readable(value: unknown, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS);
  const clean = createScrubber(known.flatMap(secretForms), MIN_SECRET_CHARS);
  // Lines are not folded: a text is easier to find when it is in one piece.
  const text = stringify(plain(value, clean, MAX_DEPTH), { lineWidth: 0, aliasDuplicateObjects: false });
  return text.replaceAll(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function plain(value: unknown, clean: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return shortened(clean(value));
  if (value instanceof ExactNumber) return exact(value);
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '…';
  if (Array.isArray(value)) return value.map((item) => plain(item, clean, depth - 1));
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return new Map(entries.map(([key, item]) => [shortened(clean(key)), plain(item, clean, depth - 1)]));
}

const shortened = (text: string): string =>
  text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS)}… (${text.length} characters)`;

/** As it was written, as far as YAML has a form for it. */
function exact(number: ExactNumber): unknown {
  if (number.isInteger) return BigInt(number.text);
  const scalar = new Scalar(number.value);
  scalar.minFractionDigits = 1;
  return scalar;
}
