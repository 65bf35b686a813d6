import { ExactNumber } from '../../lib/json/exact-number.ts';
import { isJsonObject } from './shape-mismatch.ts';

/**
 * Python's `==` of JSON values: types count, but 1, 1.0 and true are equal; lists and objects are compared
 * deeply; integers by all their digits. Integers of the configuration beyond 2^53 are doubles, which equal every integer
 * that rounds to them.
 */
export function pythonEquals(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== undefined && right !== undefined) {
    return typeof left === typeof right ? left === right : Number(left) === Number(right);
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((element, index) => pythonEquals(element, b[index]));
  }
  if (isJsonObject(a) && isJsonObject(b)) return sameFields(a, b);
  return a === b;
}

function sameFields(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && pythonEquals(a[key], b[key]))
  );
}

function numeric(value: unknown): number | bigint | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  if (!(value instanceof ExactNumber)) return undefined;
  return value.isInteger ? BigInt(value.text) : value.value;
}
