import { cut, literal, oneLine, shownName } from './plain-text.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { type Json, own, ownText, type Property, type SchemaView, variantsOf } from './schema-view.ts';
import { hasProperties, typeText } from './type-text.ts';
import { squashed } from './words.ts';

/** Levels of objects below the parameters that are listed; what lies deeper is named only. */
const NESTED_LEVELS = 2;
const MAX_LINES = 300;
const MAX_DESCRIPTION = 1_000;
const MAX_VALUE = 200;
const MAX_VARIANTS = 6;
const MAX_DEPTH = 3;
const MAX_NAMED = 10;

/** A list in Markdown of what an object holds, nested as the object is. Empty for an object without properties. */
export function propertyLines(view: SchemaView): readonly string[] {
  const lines: string[] = [];
  list({ schema: view.root, view, level: 0, lines });
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), '- … and more'];
}

interface Place {
  readonly schema: unknown;
  readonly view: SchemaView;
  readonly level: number;
  readonly lines: string[];
}

function list(place: Place): void {
  const { schema, view, level, lines } = place;
  for (const property of view.propertiesOf(schema)) {
    if (lines.length > MAX_LINES) return;
    lines.push(lineOf(property, place));
    inside(property.schema, place);
  }
  const variants = variantsOf(view.resolve(schema)).slice(0, MAX_VARIANTS);
  if (level >= NESTED_LEVELS) return;
  variants
    .flatMap((variant) => objectsIn(variant, view))
    .forEach((object, i) => {
      if (lines.length > MAX_LINES) return;
      lines.push(`${indent(level)}- either, ${i + 1}:`);
      list({ ...place, schema: object, level: level + 1 });
    });
}

/** What the objects in a value hold: its own properties, those of its elements, of each of its variants. */
function inside(schema: unknown, place: Place): void {
  const level = place.level + 1;
  if (level > NESTED_LEVELS) return;
  const objects = objectsIn(schema, place.view);
  objects.forEach((object, i) => {
    if (place.lines.length > MAX_LINES) return;
    const alone = objects.length === 1;
    if (!alone) place.lines.push(`${indent(level)}- object ${i + 1}:`);
    list({ ...place, schema: object, level: alone ? level : level + 1 });
  });
}

function objectsIn(schema: unknown, view: SchemaView, depth = 0): readonly unknown[] {
  const resolved = view.resolve(schema);
  if (resolved === undefined || depth > MAX_DEPTH) return [];
  if (hasProperties(resolved)) return [resolved];
  const parts = variantsOf(resolved).slice(0, MAX_VARIANTS);
  const items = own(resolved, 'items');
  if (isObject(items)) parts.push(items);
  const others = own(resolved, 'additionalProperties');
  if (isObject(others)) parts.push(others);
  return parts.flatMap((part) => objectsIn(part, view, depth + 1)).slice(0, MAX_VARIANTS);
}

function lineOf({ name, schema, required }: Property, { view, level }: Place): string {
  const resolved = view.resolve(schema);
  const attributes = [typeText(schema, view), ...(required ? ['required'] : []), ...limitsOf(resolved)];
  if (resolved !== undefined && Object.hasOwn(resolved, 'default')) {
    attributes.push(`default ${view.literal(resolved['default'])}`);
  }
  if (level === NESTED_LEVELS) attributes.push(...named(schema, view));
  const text = descriptionOf(name, resolved);
  return `${indent(level)}- ${codeSpan(name)} (${attributes.join(', ')})${text === '' ? '' : `: ${text}`}`;
}

/** Titles that only repeat the name (schema generators write them) say nothing. */
function descriptionOf(name: string, schema: Json | undefined): string {
  const description = ownText(schema, 'description');
  if (description !== undefined) return oneLine(description, MAX_DESCRIPTION);
  const title = ownText(schema, 'title');
  return title === undefined || squashed(title) === squashed(name) ? '' : oneLine(title, MAX_DESCRIPTION);
}

function limitsOf(schema: Json | undefined): readonly string[] {
  const attributes: string[] = [];
  const format = ownText(schema, 'format');
  if (format !== undefined) attributes.push(`format ${oneLine(format, MAX_VALUE)}`);
  const pattern = ownText(schema, 'pattern');
  if (pattern !== undefined) attributes.push(`pattern ${literal(pattern, MAX_VALUE)}`);
  for (const [key, text] of LIMITS) {
    const limit = own(schema, key);
    // Bounds of the safe integers are what generators write for any integer.
    if (typeof limit === 'number' && Math.abs(limit) < Number.MAX_SAFE_INTEGER) attributes.push(`${text} ${limit}`);
  }
  return attributes;
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
function named(schema: unknown, view: SchemaView): readonly string[] {
  const names = objectsIn(schema, view).flatMap((object) => view.propertiesOf(object).map(({ name }) => name));
  if (names.length === 0) return [];
  const shown = names.slice(0, MAX_NAMED).map((name) => cut(shownName(name), MAX_VALUE));
  return [`with ${shown.join(', ')}${names.length > MAX_NAMED ? ', …' : ''}`];
}

function codeSpan(name: string): string {
  const shown = shownName(name);
  return shown === name ? `\`${shown}\`` : shown;
}

function indent(level: number): string {
  return '  '.repeat(level);
}
