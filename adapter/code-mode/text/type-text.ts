import { isObject } from '../../../lib/json/json-object.ts';
import { type Json, own, ownList, type SchemaView, variantsOf } from './schema-view.ts';

const MAX_VALUES = 40;
const MAX_VALUES_TEXT = 1_000;
const MAX_VARIANTS = 6;
/** Arrays of arrays, variants of variants. */
const MAX_DEPTH = 3;
const ANY = 'any';
const NAMES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']);

/** What a value is, in a few words: `string`, `"a" | "b"`, `array of object`. */
export function typeText(schema: unknown, view: SchemaView, depth = 0): string {
  if (schema === false) return 'nothing';
  const resolved = view.resolve(schema);
  if (resolved === undefined) return ANY;
  if (Object.hasOwn(resolved, 'const')) return view.literal(resolved['const']);
  const values = own(resolved, 'enum');
  if (Array.isArray(values) && values.length > 0) return valuesText(values, view);
  return variantsText(resolved, view, depth) ?? typesText(resolved, view, depth);
}

/** Whether it says which properties an object has. */
export function hasProperties(schema: Json): boolean {
  return isObject(own(schema, 'properties')) || ownList(schema, 'allOf').some(mayHaveProperties);
}

/** `allOf` is also used to say something about any value, such as a minimum. */
function mayHaveProperties(part: unknown): boolean {
  return isObject(part) && ['properties', '$ref', 'allOf'].some((key) => Object.hasOwn(part, key));
}

/** Undefined where variants say nothing about the type: they may only tell which properties are required together. */
function variantsText(schema: Json, view: SchemaView, depth: number): string | undefined {
  const variants = variantsOf(schema);
  if (variants.length === 0 || depth >= MAX_DEPTH) return undefined;
  const shown = new Set(variants.slice(0, MAX_VARIANTS).map((variant) => typeText(variant, view, depth + 1)));
  if (shown.size === 1 && shown.has(ANY)) return undefined;
  if (variants.length > MAX_VARIANTS) shown.add('…');
  return [...shown].join(' | ');
}

function typesText(schema: Json, view: SchemaView, depth: number): string {
  const type = own(schema, 'type');
  const stated = (Array.isArray(type) ? (type as unknown[]) : [type]).filter((name) => NAMES.has(name));
  const names = stated.length > 0 ? new Set(stated) : [impliedType(schema)];
  return Array.from(names, (name) => {
    if (name === 'array') return ofText('array', own(schema, 'items'), view, depth);
    if (name !== 'object' || hasProperties(schema)) return String(name);
    return ofText('object', own(schema, 'additionalProperties'), view, depth);
  }).join(' | ');
}

function impliedType(schema: Json): string {
  if (hasProperties(schema)) return 'object';
  return Object.hasOwn(schema, 'items') ? 'array' : ANY;
}

/** `array of string`, `object of integer`: its values, whatever their names are. */
function ofText(name: string, values: unknown, view: SchemaView, depth: number): string {
  if (!isObject(values) || depth >= MAX_DEPTH) return name;
  const text = typeText(values, view, depth + 1);
  if (text === ANY) return name;
  return text.includes(' | ') ? `${name} of (${text})` : `${name} of ${text}`;
}

function valuesText(values: readonly unknown[], view: SchemaView): string {
  const shown: string[] = [];
  let length = 0;
  for (const value of values.slice(0, MAX_VALUES)) {
    const text = view.literal(value);
    length += text.length;
    if (length > MAX_VALUES_TEXT) break;
    shown.push(text);
  }
  const left = values.length - shown.length;
  return shown.join(' | ') + (left > 0 ? ` | … (${left} more values)` : '');
}
