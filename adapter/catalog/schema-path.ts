import { elements, locate, type Span } from '../exchange/json-scan.ts';

/** A property on a path such as `a.b` through a JSON schema. */
export interface SchemaProperty {
  /** Its schema. */
  readonly span: Span;
  /** Whether the object that it belongs to requires it. */
  readonly required: boolean;
}

/** Keywords whose schemas all describe the same value. */
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf'];
const MAX_STEPS = 32;

/**
 * The properties along a path, as far as the schema (JSON text) describes them: through objects, lists and
 * alternatives. `follow`: also through `$ref` to `#/…`; what stands there may belong to other properties too.
 */
export function schemaPath(schema: string, path: readonly string[], follow: boolean): SchemaProperty[] {
  const found: SchemaProperty[] = [];
  let at: Span = { start: 0, end: schema.length };
  for (const key of path) {
    const property: SchemaProperty | undefined = propertyOf(schema, at, key, follow, 0);
    if (property === undefined) break;
    found.push(property);
    at = property.span;
  }
  return found;
}

function propertyOf(schema: string, at: Span, key: string, follow: boolean, steps: number): SchemaProperty | undefined {
  if (steps > MAX_STEPS || schema.charAt(at.start) === '[') return undefined;
  const span = locate(schema, ['properties', key], at.start);
  if (span !== undefined) return { span, required: requires(schema, at, key) };
  for (const inner of innerSchemas(schema, at, follow)) {
    const property = propertyOf(schema, inner, key, follow, steps + 1);
    if (property !== undefined) return property;
  }
  return undefined;
}

/** Whether the value that a schema describes may be a list. */
export function mayBeList(schema: string, at: Span, steps = 0): boolean {
  const type = locate(schema, ['type'], at.start);
  if (type !== undefined && schema.slice(type.start, type.end).includes('"array"')) return true;
  if (steps > MAX_STEPS) return false;
  const alternatives = [...innerSchemas(schema, at, true)].filter((inner) => !isItems(schema, at, inner));
  return alternatives.some((inner) => mayBeList(schema, inner, steps + 1));
}

function isItems(schema: string, at: Span, inner: Span): boolean {
  return locate(schema, ['items'], at.start)?.start === inner.start;
}

function* innerSchemas(schema: string, at: Span, follow: boolean): Generator<Span> {
  const items = locate(schema, ['items'], at.start);
  if (items !== undefined) yield items;
  for (const keyword of ALTERNATIVES) {
    const list = locate(schema, [keyword], at.start);
    if (list !== undefined) yield* elements(schema, list.start);
  }
  const target = follow ? referenced(schema, at) : undefined;
  if (target !== undefined) yield target;
}

function referenced(schema: string, at: Span): Span | undefined {
  const span = locate(schema, ['$ref'], at.start);
  if (span === undefined || schema.charAt(span.start) !== '"') return undefined;
  const ref = JSON.parse(schema.slice(span.start, span.end)) as string;
  if (!ref.startsWith('#/')) return undefined;
  const keys = ref.slice(2).split('/');
  return locate(
    schema,
    keys.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
  );
}

function requires(schema: string, at: Span, key: string): boolean {
  const list = locate(schema, ['required'], at.start);
  if (list === undefined) return false;
  for (const { start, end } of elements(schema, list.start)) {
    if (schema.charAt(start) === '"' && JSON.parse(schema.slice(start, end)) === key) return true;
  }
  return false;
}
