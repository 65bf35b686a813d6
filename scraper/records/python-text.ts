import { ExactNumber, SpelledNumber } from '../../lib/json/exact-number.ts';
import { isJsonObject } from './shape-mismatch.ts';

/**
 * What Python's `str()` makes of a JSON value: `True`, `None`, `1.0`, `[1, 'a']`. Whether a number that is
 * whole has been a float is only known when the text was parsed exactly.
 */
export function pythonStr(value: unknown): string {
  return typeof value === 'string' ? value : repr(value);
}

function repr(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || value instanceof ExactNumber) return numberText(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (!isJsonObject(value)) return 'None';
  return `{${Object.entries(value)
    .map(([key, inner]) => `${quote(key)}: ${repr(inner)}`)
    .join(', ')}}`;
}

/** A number as Python writes it: integers with all digits, floats in their shortest form. */
export function numberText(value: number | ExactNumber): string {
  if (value instanceof SpelledNumber) return value.text;
  if (value instanceof ExactNumber) return value.isInteger ? value.text : floatText(value.value);
  return Number.isSafeInteger(value) ? String(value) : floatText(value);
}

/** Python's `repr()` of a float: `1.0`, `1e-07`, `1e+16`, `inf`. Both languages choose the same, shortest digits. */
function floatText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf';
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const power = Number(exponent);
  const minus = Object.is(value, -0) ? '-' : '';
  if (power < -4 || power >= 16) {
    return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  // Between 1e-6 and 1e21 JavaScript writes no exponent, and between 1e-4 and 1e16 neither does Python.
  const text = `${minus}${value}`;
  return text.includes('.') ? text : `${text}.0`;
}

/** What is not printable to Python: control, format, surrogate, private, unassigned, separators but the space. */
const UNPRINTABLE = /[\\\p{C}\p{Z}]/gu;
const NAMED: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', ' ': ' ' };

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(UNPRINTABLE, (character) => NAMED[character] ?? escapeCode(character));
  return mark + (mark === "'" ? escaped.replaceAll("'", "\\'") : escaped) + mark;
}

function escapeCode(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code < 0x1_0000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
}
