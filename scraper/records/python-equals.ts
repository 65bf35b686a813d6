import { ExactNumber } from './exact-number.ts';
import { isJsonObject } from './shape-mismatch.ts';

/**
 * Python's `==` of JSON values (facts 5): types count, but 1, 1.0 and true are equal; lists and objects are compared
 * deeply; integers and floats by their exact values.
 */
export function pythonEquals(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  const [left, right] = [numeric(a), numeric(b)];
  // Of an integer and a double, `==` compares the exact values.
  // oxlint-disable-next-line eqeqeq
  if (left !== undefined && right !== undefined) return left == right;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((element, index) => pythonEquals(element, b[index]));
  }
  if (isJsonObject(a) && isJsonObject(b)) return sameFields(a, b);
  return a === b;
}

function sameFields(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && pythonEquals(a[key], b[key]))
  );
}

function numeric(value: unknown): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return Number(value);
  if (!(value instanceof ExactNumber)) return undefined;
  return value.isInteger ? BigInt(value.text) : value.value;
}
