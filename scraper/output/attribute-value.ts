import type { AnyValue } from '@opentelemetry/api';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { cutText, MOST_CHARS } from './cut-text.ts';

export type Scalar = string | number | boolean;

/**
 * The value of an attribute of a metric; undefined for null. Lists and objects, which metrics cannot have, become their
 * JSON text, and integers that a double cannot hold their digits. Texts are cut; `onCut` is told when one was.
 */
export function metricAttribute(value: unknown, onCut: () => void): Scalar | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (value === null || value === undefined) return undefined;
  const text =
    typeof value === 'string' ? value : value instanceof ExactNumber ? plainNumber(value) : JSON.stringify(value);
  if (typeof text === 'number' || text.length <= MOST_CHARS) return text;
  onCut();
  return cutText(text);
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

/** A value as an attribute of a log record: as `logValue`, with every text in it cut; `onCut` is told when one was. */
export function logAttribute(value: unknown, onCut: () => void): AnyValue {
  const known = logValue(value);
  if (!hasLongText(known)) return known;
  onCut();
  return withCutTexts(known);
}

function hasLongText(value: AnyValue): boolean {
  if (typeof value === 'string') return value.length > MOST_CHARS;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLongText);
}

function withCutTexts(value: AnyValue): AnyValue {
  if (typeof value === 'string') return cutText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withCutTexts);
  const copy = Object.create(null) as Record<string, AnyValue>;
  for (const [name, inner] of Object.entries(value)) copy[name] = withCutTexts(inner as AnyValue);
  return copy;
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
