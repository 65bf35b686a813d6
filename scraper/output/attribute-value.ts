import type { AnyValue } from '@opentelemetry/api';
import { ExactNumber } from '../../crds/config/exact-number.ts';

export type Scalar = string | number | boolean;

/**
 * The value of an attribute of a metric; undefined for null. Lists and objects, which metrics cannot have, become their
 * JSON text, and integers that a double cannot hold their digits.
 */
export function metricAttribute(value: unknown): Scalar | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value === null || value === undefined) return undefined;
  return value instanceof ExactNumber ? plainNumber(value) : JSON.stringify(value);
}

/**
 * How deep lists and objects may be in each other. Each is three messages of OTLP, and most libraries that read it refuse
 * everything that comes with more than a hundred.
 */
const MAX_DEPTH = 25;

/**
 * A value of a record as log records hold it: lists and objects stay what they are, and what is too deep in them becomes
 * its JSON text.
 */
export function logValue(value: unknown): AnyValue {
  if (typeof value !== 'object' || value === null) return value;
  return isPlain(value, MAX_DEPTH) ? value : converted(value, MAX_DEPTH);
}

/** The exporter knows only doubles: the digits of an identifier are worth more than its type. */
function plainNumber(exact: ExactNumber): number | string {
  return !exact.isInteger || Number.isSafeInteger(exact.value) ? exact.value : exact.text;
}

/** Nearly all records are; what is must not be copied. */
function isPlain(value: object, depth: number): boolean {
  if (value instanceof ExactNumber || depth === 0) return false;
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name];
    if (typeof inner === 'object' && inner !== null && !isPlain(inner, depth - 1)) return false;
  }
  return true;
}

function converted(value: unknown, depth: number): AnyValue {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof ExactNumber) return plainNumber(value);
  if (depth === 0) return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((inner) => converted(inner, depth - 1));
  // Without a prototype a field named __proto__ is a field.
  const copy = Object.create(null) as Record<string, AnyValue>;
  for (const [name, inner] of Object.entries(value)) copy[name] = converted(inner, depth - 1);
  return copy;
}
