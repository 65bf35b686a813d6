import { ExactNumber } from '../../lib/json/exact-number.ts';

const DIGITS = String.raw`\d+(?:_\d+)*`;
const FLOAT = new RegExp(String.raw`^[+-]?(?:${DIGITS}(?:\.(?:${DIGITS})?)?|\.${DIGITS})(?:[eE][+-]?${DIGITS})?$`);
const SPECIAL = /^([+-]?)(?:(inf(?:inity)?)|nan)$/i;

/**
 * The number that a value of a record stands for, as Python's `float()` sees it: numbers, true and false as 1
 * and 0, and texts such as ` 1_000.5 `, `1e3`, `nan` and `-inf`. Undefined for everything else.
 */
export function pythonFloat(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return parseFloatText(value.trim());
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof ExactNumber ? value.value : undefined;
}

function parseFloatText(text: string): number | undefined {
  if (FLOAT.test(text)) return Number(text.replaceAll('_', ''));
  const [matched, sign, infinity] = SPECIAL.exec(text) ?? [];
  if (matched === undefined) return undefined;
  if (infinity === undefined) return Number.NaN;
  return sign === '-' ? -Infinity : Infinity;
}
