import { isObject } from '../../lib/json/json-object.ts';
import { ExactNumber } from '../../lib/json/exact-number.ts';

/** An answer that does not have the shape that the configuration expects. Its message holds no value of the answer. */
export class ShapeMismatch extends Error {
  override readonly name = 'ShapeMismatch';
}

/** What a JSON value is, in a message. */
export function shapeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isJsonObject(value)) return 'an object';
  if (typeof value === 'string') return 'a string';
  return typeof value === 'boolean' ? 'a boolean' : 'a number';
}

/** Whether a JSON value is an object, and neither a list nor a number that is kept as its text. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !(value instanceof ExactNumber);
}
