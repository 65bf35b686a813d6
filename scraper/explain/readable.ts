import { Scalar, stringify } from 'yaml';
import { REDACTED } from '../../crds/config/secret-names.ts';
import { ExactNumber } from '../records/exact-number.ts';
import { secretForms } from '../requests/excerpt.ts';

/** Shorter values occur by chance in ordinary text. */
const MIN_SECRET_CHARS = 4;

/** A value as YAML, without any of these secrets, whichever text or name they are part of. */
export function readable(value: unknown, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS);
  const forms = known.flatMap(secretForms).sort((a, b) => b.length - a.length);
  const clean = (text: string): string => forms.reduce((rest, form) => rest.replaceAll(form, REDACTED), text);
  // Lines are not folded: a text is easier to find when it is in one piece.
  return stringify(plain(value, clean), { lineWidth: 0, aliasDuplicateObjects: false });
}

function plain(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (value instanceof ExactNumber) return exact(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => plain(item, clean));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return new Map(entries.map(([key, item]) => [clean(key), plain(item, clean)]));
}

function exact(number: ExactNumber): unknown {
  if (number.isInteger) return BigInt(number.text);
  const scalar = new Scalar(number.value);
  scalar.minFractionDigits = 1;
  return scalar;
}
