import { isObject } from '../../../lib/json/json-object.ts';
import { literal } from './plain-text.ts';

/**
 * Looks at a JSON Schema that somebody else wrote. Nothing is trusted to have the type that it should have, and only own
 * members count: a schema may name a property `__proto__`.
 */

export type Json = Readonly<Record<string, unknown>>;

export interface Property {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** References that lead to references; longer chains are taken for a circle. */
const MAX_REFERENCES = 8;
const MAX_NESTED_ALL_OF = 4;
/** Members of `allOf` that are looked at. */
const MAX_PARTS = 20;
/** Properties of one object that are looked at. */
const MAX_PROPERTIES = 1_000;
const MAX_LITERAL = 200;
/** What may stand beside a reference and counts then. */
const BESIDE =
  'type enum const default title description format pattern minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems properties required items additionalProperties allOf anyOf oneOf'.split(
    ' ',
  );

export function own(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function ownText(value: unknown, key: string): string | undefined {
  const text = own(value, key);
  return typeof text === 'string' && text.trim() !== '' ? text : undefined;
}

export function ownList(value: unknown, key: string): readonly unknown[] {
  const list = own(value, key);
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}

/**
 * A schema with what it refers to inside of itself. A few lines can lead to the same places on millions of ways, so every
 * look costs one of `steps`; when none are left, nothing more is seen.
 */
export class SchemaView {
  readonly root: unknown;
  readonly #steps: number;
  #left: number;
  readonly #literals = new Map<unknown, string>();

  constructor(root: unknown, steps: number) {
    this.root = root;
    this.#steps = steps;
    this.#left = steps;
  }

  get usedSteps(): number {
    return this.#steps - this.#left;
  }

  /**
   * The schema itself, or what it refers to, with what stands beside the reference. Undefined for what is no object, lies
   * elsewhere, or refers to itself.
   */
  resolve(schema: unknown): Json | undefined {
    let at = schema;
    let resolved: Json | undefined;
    for (let hops = 0; hops <= MAX_REFERENCES; hops++) {
      if (!isObject(at) || !this.#step()) return undefined;
      const reference = own(at, '$ref');
      if (typeof reference !== 'string') return resolved === undefined ? at : beside(resolved, at);
      resolved = resolved === undefined ? at : beside(resolved, at);
      at = pointedAt(reference, this.root);
    }
    return undefined;
  }

  /** The properties of an object, those of its `allOf` included. */
  propertiesOf(schema: unknown): readonly Property[] {
    const found = new Map<string, Property>();
    this.#collect(schema, found, new Set(), 0);
    return [...found.values()];
  }

  /** A value as JSON on one line, with escapes for what cannot be seen. */
  literal(value: unknown): string {
    const known = this.#literals.get(value);
    if (known !== undefined) return known;
    const text = literal(value, MAX_LITERAL);
    this.#literals.set(value, text);
    return text;
  }

  /** @param seen what has been collected: schemas may lead to themselves */
  #collect(schema: unknown, found: Map<string, Property>, seen: Set<unknown>, depth: number): void {
    const resolved = this.resolve(schema);
    if (resolved === undefined) return;
    const properties = own(resolved, 'properties');
    if (isObject(properties) && !seen.has(properties)) {
      seen.add(properties);
      for (const name of Object.keys(properties)) {
        if (found.size >= MAX_PROPERTIES || !this.#step()) break;
        if (!found.has(name)) found.set(name, { name, schema: properties[name], required: false });
      }
    }
    const parts = ownList(resolved, 'allOf');
    if (depth < MAX_NESTED_ALL_OF && !seen.has(parts)) {
      seen.add(parts);
      for (const part of parts.slice(0, MAX_PARTS)) this.#collect(part, found, seen, depth + 1);
    }
    // Last, because a part may require what another declares.
    for (const name of ownList(resolved, 'required').slice(0, MAX_PROPERTIES)) {
      const property = typeof name === 'string' ? found.get(name) : undefined;
      if (property !== undefined && !property.required) found.set(property.name, { ...property, required: true });
    }
  }

  #step(): boolean {
    if (this.#left <= 0) return false;
    this.#left--;
    return true;
  }
}

/** What a value may be instead: the members of `anyOf` or `oneOf`. */
export function variantsOf(schema: unknown): readonly unknown[] {
  const any = ownList(schema, 'anyOf');
  return any.length > 0 ? any : ownList(schema, 'oneOf');
}

/** The first with what only the second says. */
function beside(first: Json, second: Json): Json {
  const both: Record<string, unknown> = {};
  for (const key of BESIDE) {
    const value = Object.hasOwn(first, key) ? first[key] : own(second, key);
    if (value !== undefined) both[key] = value;
  }
  return both;
}

function pointedAt(reference: string, root: unknown): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = Array.isArray(at) ? (at as readonly unknown[])[Number(key)] : own(at, key);
  }
  return at;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
