import { compareCodePoints } from './code-points.ts';
import { ExactNumber } from './exact-number.ts';
import { numberText } from './python-text.ts';

/**
 * A JSON value as Python's `json.dumps(value, sort_keys=True)` writes it, which is what fingerprints are made of (facts 6):
 * `, ` and `: ` between parts, keys in the order of their code points, ASCII only.
 */
export function pythonJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return jsonString(value);
    case 'number':
      return jsonNumber(value);
    case 'boolean':
      return value ? 'true' : 'false';
    default:
      return compound(value);
  }
}

function compound(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (value instanceof ExactNumber) return jsonNumber(value);
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of Object.keys(fields).sort(compareCodePoints)) {
    text += `${text === '' ? '' : ', '}${jsonString(key)}: ${pythonJson(fields[key])}`;
  }
  return `{${text}}`;
}

function jsonNumber(value: number | ExactNumber): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  const text = numberText(value);
  // A float such as 1e999 is infinite to Python too.
  return text.endsWith('inf') ? `${text.slice(0, -3)}Infinity` : text;
}

const PLAIN = /^[ !#-[\]-~]*$/;
const ESCAPED = /[^ !#-[\]-~]/g;
const NAMED: Readonly<Record<string, string>> = {
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '\f': String.raw`\f`,
  '\b': String.raw`\b`,
};

/** A string in quotes, with everything but printable ASCII escaped. */
export function jsonString(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : `"${text.replace(ESCAPED, escape)}"`;
}

const escape = (unit: string): string =>
  NAMED[unit] ?? String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0');
