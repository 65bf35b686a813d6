import { elements, locate, members, type Span } from '../exchange/scanning/json-scan.ts';

/** A property on a path such as `a.b` through a JSON schema. */
export interface SchemaProperty {
  /** Its schema. */
  readonly span: Span;
  /** Whether the object that it belongs to requires it. */
  readonly required: boolean;
}

/** Keywords whose schemas all describe the same value. */
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf'];
/** How much of a schema one search reads: definitions may refer to each other in more ways than anyone can follow. */
const MAX_CHARS = 2 ** 20;
/** What a look at a schema costs at least, however short that is. */
const LEAST_CHARS = 256;

/**
 * The properties along a path, as far as the schema (JSON text) describes them: through objects, lists and
 * alternatives. `follow`: also through `$ref` to `#/…`; what stands there may belong to other properties too.
 */
export function schemaPath(schema: string, path: readonly string[], follow: boolean): SchemaProperty[] {
  const found: SchemaProperty[] = [];
  let at: Span = { start: 0, end: schema.length };
  for (const key of path) {
    const property = propertyOf(new Search(schema, follow), at, key);
    if (property === undefined) break;
    found.push(property);
    at = property.span;
  }
  return found;
}

/** Whether the value that a schema describes may be a list. */
export function mayBeList(schema: string, at: Span): boolean {
  return isList(new Search(schema, true), at);
}

function propertyOf(search: Search, at: Span, key: string): SchemaProperty | undefined {
  const { text } = search;
  const keywords = search.keywordsOf(at);
  const properties = keywords.get('properties');
  const span = properties === undefined ? undefined : locate(text, [key], properties.start);
  if (span !== undefined) return { span, required: names(text, keywords.get('required'), key) };
  const items = keywords.get('items');
  for (const inner of [...(items === undefined ? [] : [items]), ...search.alternatives(keywords)]) {
    const property = propertyOf(search, inner, key);
    if (property !== undefined) return property;
  }
  return undefined;
}

function isList(search: Search, at: Span): boolean {
  const keywords = search.keywordsOf(at);
  const type = keywords.get('type');
  if (type !== undefined && search.text.slice(type.start, type.end).includes('"array"')) return true;
  for (const inner of search.alternatives(keywords)) if (isList(search, inner)) return true;
  return false;
}

function names(text: string, list: Span | undefined, key: string): boolean {
  if (list === undefined) return false;
  for (const { start, end } of elements(text, list.start)) {
    if (text.charAt(start) === '"' && JSON.parse(text.slice(start, end)) === key) return true;
  }
  return false;
}

/** Looks at each schema once, and at nothing more when it has read enough. */
class Search {
  readonly text: string;
  readonly #follow: boolean;
  readonly #seen = new Set<number>();
  #left = MAX_CHARS;

  constructor(text: string, follow: boolean) {
    this.text = text;
    this.#follow = follow;
  }

  /** The members of a schema; none when it has been looked at. Of duplicate keys the last counts. */
  keywordsOf({ start, end }: Span): Map<string, Span> {
    const keywords = new Map<string, Span>();
    if (this.#seen.has(start) || !this.#mayRead(end - start)) return keywords;
    this.#seen.add(start);
    for (const member of members(this.text, start)) keywords.set(member.key, member);
    return keywords;
  }

  /** The schemas that describe the same value. */
  *alternatives(keywords: ReadonlyMap<string, Span>): Generator<Span> {
    for (const keyword of ALTERNATIVES) {
      const list = keywords.get(keyword);
      if (list !== undefined) yield* elements(this.text, list.start);
    }
    const target = this.#follow ? this.#referenced(keywords.get('$ref')) : undefined;
    if (target !== undefined) yield target;
  }

  #referenced(span: Span | undefined): Span | undefined {
    if (span === undefined || this.text.charAt(span.start) !== '"') return undefined;
    const ref = JSON.parse(this.text.slice(span.start, span.end)) as string;
    if (!ref.startsWith('#/')) return undefined;
    const keys = ref.slice(2).split('/');
    if (!this.#mayRead(keys.length * this.text.length)) return undefined;
    return locate(
      this.text,
      keys.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
    );
  }

  #mayRead(chars: number): boolean {
    this.#left -= Math.max(chars, LEAST_CHARS);
    return this.#left >= 0;
  }
}
