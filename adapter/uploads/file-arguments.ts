import { insertMember } from '../catalog/insert-member.ts';
import { elements, folded, locate, members, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { MAX_SESSION_FILES } from '../state/file-records.ts';

/** What stands at `upload_consumer.file_path_argument` of a tools/call. */
export type FileArguments =
  /** In the order of the text; none when the argument is an empty list. */
  | { readonly kind: 'values'; readonly values: readonly FileValue[] }
  /** There is no value, or null. `depth`: how many keys of the path are there. */
  | { readonly kind: 'absent'; readonly depth: number }
  | { readonly kind: 'refused'; readonly problem: Problem };

/**
 * `type`: neither a string nor a list of strings. `ambiguous`: parsers differ about which member counts. `many`: lists
 * with more elements than a session may have files.
 */
type Problem = 'type' | 'ambiguous' | 'many';

/** A string and where it stands in the body. */
export interface FileValue extends Span {
  readonly value: string;
}

/** Reads the argument at a path such as `a.b`; on the way, lists are looked through. Takes the body of the request. */
export function fileArguments(body: string, path: readonly string[]): FileArguments {
  const params = locate(body, ['params']);
  if (params === undefined) return { kind: 'absent', depth: 0 };
  const search = new Search(body, ['arguments', ...path]);
  search.visit(params, 0);
  return search.result();
}

/** The body with other strings (JSON texts) in the place of these values; every other byte stays. */
export function withFileArguments(body: string, values: readonly FileValue[], texts: readonly string[]): string {
  return splice(
    body,
    values.map(({ start, end }, i) => ({ start, end, with: texts[i] ?? 'null' })),
  );
}

/** The body with a value at a path where there is none; undefined when a list or another value is in the way. */
export function withFileArgument(body: string, path: readonly string[], value: string): string | undefined {
  let at = locate(body, ['params']);
  const keys = ['arguments', ...path];
  for (const [i, key] of keys.entries()) {
    if (at === undefined || body.charAt(at.start) !== '{') return undefined;
    const found = locate(body, [key], at.start);
    const missing = keys.slice(i + 1).reduceRight((inner, outer) => `{${JSON.stringify(outer)}:${inner}}`, value);
    if (found === undefined) return splice(body, [insertMember(body, at, key, missing)]);
    if (body.startsWith('null', found.start)) return splice(body, [{ ...found, with: missing }]);
    at = found;
  }
  return undefined;
}

class Search {
  readonly #text: string;
  readonly #keys: readonly string[];
  readonly #values: FileValue[] = [];
  #absent = -1;
  #elements = 0;
  #problem: Problem | undefined;

  /** The first of the keys is that of the arguments themselves. */
  constructor(text: string, keys: readonly string[]) {
    this.#text = text;
    this.#keys = keys;
  }

  visit(span: Span, depth: number): void {
    const key = this.#keys[depth];
    if (key === undefined) return this.#leaf(span);
    const first = this.#text.charAt(span.start);
    if (first === '[' && depth > 1) {
      for (const element of this.#in(span)) this.visit(element, depth);
    } else if (first === '{') {
      this.#member(span, key, depth);
    } else if (this.#isNull(span)) {
      this.#absentAt(depth);
    } else {
      this.#problem ??= 'type';
    }
  }

  result(): FileArguments {
    if (this.#problem !== undefined) return { kind: 'refused', problem: this.#problem };
    if (this.#values.length === 0 && this.#absent >= 0) {
      return { kind: 'absent', depth: Math.max(0, this.#absent - 1) };
    }
    return { kind: 'values', values: this.#values };
  }

  /** Some parsers take the first of two members, and some take `Path` for `path`; neither may get past the adapter. */
  #member(span: Span, key: string, depth: number): void {
    let found: Span | undefined;
    for (const member of members(this.#text, span.start)) {
      if (folded(member.key) !== folded(key)) continue;
      if (member.key !== key || found !== undefined) {
        this.#problem = 'ambiguous';
        return;
      }
      found = member;
    }
    if (found === undefined) this.#absentAt(depth);
    else this.visit(found, depth + 1);
  }

  #leaf(span: Span): void {
    const first = this.#text.charAt(span.start);
    if (first === '"') this.#add(span);
    else if (this.#isNull(span)) this.#absentAt(this.#keys.length - 1);
    else if (first === '[') {
      for (const element of this.#in(span)) {
        if (this.#text.charAt(element.start) === '"') this.#add(element);
        else this.#problem ??= 'type';
      }
    } else this.#problem ??= 'type';
  }

  *#in(list: Span): Generator<Span> {
    for (const element of elements(this.#text, list.start)) {
      if (++this.#elements > MAX_SESSION_FILES) {
        this.#problem ??= 'many';
        return;
      }
      yield element;
    }
  }

  #add({ start, end }: Span): void {
    this.#values.push({ start, end, value: JSON.parse(this.#text.slice(start, end)) as string });
  }

  #absentAt(depth: number): void {
    this.#absent = Math.max(this.#absent, depth);
  }

  #isNull({ start }: Span): boolean {
    return this.#text.startsWith('null', start);
  }
}
