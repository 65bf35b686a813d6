import { cut, literal, oneLine, shownName } from './plain-text.ts';
import {
  isObject,
  type Json,
  own,
  ownList,
  ownText,
  type Property,
  propertiesOf,
  resolve,
  variantsOf,
} from './schema-view.ts';
import { squashed } from './words.ts';

/** Levels of objects below the parameters that are listed; what lies deeper is named only. */
const NESTED_LEVELS = 2;
const MAX_LINES = 300;
const MAX_DESCRIPTION = 1_000;
const MAX_VALUES = 40;
const MAX_VALUES_TEXT = 1_000;
const MAX_VALUE = 200;
const MAX_VARIANTS = 6;
const MAX_TYPE_DEPTH = 3;
const MAX_NAMED = 10;
const SIMPLE_TYPES: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'null',
  'object',
  'array',
]);

/** A list in Markdown of what an object holds, nested as the object is. Empty for an object without properties. */
export function propertyLines(schema: unknown): readonly string[] {
  const lines: string[] = [];
  list({ schema, root: schema, level: 0, lines });
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), '- … and more'];
}

/** What a value is, in a few words: `string`, `"a" | "b"`, `array of object`. */
export function typeText(schema: unknown, root: unknown, depth = 0): string {
  if (schema === false) return 'nothing';
  const resolved = resolve(schema, root);
  if (resolved === undefined) return 'any';
  if (Object.hasOwn(resolved, 'const')) return literal(resolved['const'], MAX_VALUE);
  const values = own(resolved, 'enum');
  if (Array.isArray(values) && values.length > 0) return valuesText(values);
  const variants = variantsOf(resolved);
  if (variants.length > 0 && depth < MAX_TYPE_DEPTH) {
    const shown = variants.slice(0, MAX_VARIANTS).map((variant) => typeText(variant, root, depth + 1));
    if (variants.length > MAX_VARIANTS) shown.push('…');
    return [...new Set(shown)].join(' | ');
  }
  const types = own(resolved, 'type');
  const names = (Array.isArray(types) ? (types as unknown[]) : [types]).filter((type) => SIMPLE_TYPES.has(type));
  if (names.length === 0)
    names.push(isShapedObject(resolved) ? 'object' : Object.hasOwn(resolved, 'items') ? 'array' : 'any');
  return [...new Set(names)]
    .map((name) => (name === 'array' ? arrayText(resolved, root, depth) : String(name)))
    .join(' | ');
}

interface Place {
  readonly schema: unknown;
  readonly root: unknown;
  readonly level: number;
  readonly lines: string[];
}

function list(place: Place): void {
  for (const property of propertiesOf(place.schema, place.root)) {
    if (place.lines.length > MAX_LINES) return;
    place.lines.push(lineOf(property, place));
    inside(property.schema, place);
  }
}

/** What the objects in a value hold: its own properties, those of its elements, of each of its variants. */
function inside(schema: unknown, place: Place): void {
  const level = place.level + 1;
  if (level > NESTED_LEVELS) return;
  const objects = objectsIn(schema, place.root);
  objects.forEach((object, i) => {
    if (place.lines.length > MAX_LINES) return;
    const alone = objects.length === 1;
    if (!alone) place.lines.push(`${indent(level)}- object ${i + 1}:`);
    list({ ...place, schema: object, level: alone ? level : level + 1 });
  });
}

function objectsIn(schema: unknown, root: unknown, depth = 0): readonly unknown[] {
  const resolved = resolve(schema, root);
  if (resolved === undefined || depth > MAX_TYPE_DEPTH) return [];
  if (isShapedObject(resolved)) return [resolved];
  const parts = variantsOf(resolved).slice(0, MAX_VARIANTS);
  const items = own(resolved, 'items');
  if (isObject(items)) parts.push(items);
  const others = own(resolved, 'additionalProperties');
  if (isObject(others)) parts.push(others);
  return parts.flatMap((part) => objectsIn(part, root, depth + 1)).slice(0, MAX_VARIANTS);
}

function lineOf({ name, schema, required }: Property, { root, level }: Place): string {
  const resolved = resolve(schema, root);
  const facts = [typeText(schema, root), ...(required ? ['required'] : []), ...limitsOf(resolved)];
  if (resolved !== undefined && Object.hasOwn(resolved, 'default')) {
    facts.push(`default ${literal(resolved['default'], MAX_VALUE)}`);
  }
  if (level === NESTED_LEVELS) facts.push(...named(schema, root));
  const text = descriptionOf(name, resolved);
  return `${indent(level)}- ${codeSpan(name)} (${facts.join(', ')})${text === '' ? '' : `: ${text}`}`;
}

/** Titles that only repeat the name (schema generators write them) say nothing. */
function descriptionOf(name: string, schema: Json | undefined): string {
  const description = ownText(schema, 'description');
  if (description !== undefined) return oneLine(description, MAX_DESCRIPTION);
  const title = ownText(schema, 'title');
  return title === undefined || squashed(title) === squashed(name) ? '' : oneLine(title, MAX_DESCRIPTION);
}

function limitsOf(schema: Json | undefined): readonly string[] {
  const facts: string[] = [];
  const format = ownText(schema, 'format');
  if (format !== undefined) facts.push(`format ${oneLine(format, MAX_VALUE)}`);
  const pattern = ownText(schema, 'pattern');
  if (pattern !== undefined) facts.push(`pattern ${literal(pattern, MAX_VALUE)}`);
  for (const [key, text] of LIMITS) {
    const limit = own(schema, key);
    // Bounds of the safe integers are what generators write for any integer.
    if (typeof limit === 'number' && Math.abs(limit) < Number.MAX_SAFE_INTEGER) facts.push(`${text} ${limit}`);
  }
  return facts;
}

const LIMITS = [
  ['minimum', '>='],
  ['exclusiveMinimum', '>'],
  ['maximum', '<='],
  ['exclusiveMaximum', '<'],
  ['minLength', 'length >='],
  ['maxLength', 'length <='],
  ['minItems', 'items >='],
  ['maxItems', 'items <='],
] as const;

/** The names of the properties that are too deep to be listed. */
function named(schema: unknown, root: unknown): readonly string[] {
  const names = objectsIn(schema, root).flatMap((object) => propertiesOf(object, root).map(({ name }) => name));
  if (names.length === 0) return [];
  const shown = names.slice(0, MAX_NAMED).map((name) => cut(shownName(name), MAX_VALUE));
  return [`with ${shown.join(', ')}${names.length > MAX_NAMED ? ', …' : ''}`];
}

function valuesText(values: readonly unknown[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const value of values.slice(0, MAX_VALUES)) {
    const text = literal(value, MAX_VALUE);
    length += text.length;
    if (length > MAX_VALUES_TEXT) break;
    shown.push(text);
  }
  const left = values.length - shown.length;
  return shown.join(' | ') + (left > 0 ? ` | … (${left} more values)` : '');
}

function arrayText(schema: Json, root: unknown, depth: number): string {
  const items = own(schema, 'items');
  if (!isObject(items) || depth >= MAX_TYPE_DEPTH) return 'array';
  const text = typeText(items, root, depth + 1);
  if (text === 'any') return 'array';
  return text.includes(' | ') ? `array of (${text})` : `array of ${text}`;
}

function isShapedObject(schema: Json): boolean {
  return (
    isObject(own(schema, 'properties')) || ownList(schema, 'allOf').some((part) => isObject(part) && !isEmptyPart(part))
  );
}

/** `allOf` is also used to say something about any value, such as a minimum. */
function isEmptyPart(part: Json): boolean {
  return !['properties', '$ref', 'allOf'].some((key) => Object.hasOwn(part, key));
}

function codeSpan(name: string): string {
  const shown = shownName(name);
  return shown === name ? `\`${shown}\`` : shown;
}

function indent(level: number): string {
  return '  '.repeat(level);
}
