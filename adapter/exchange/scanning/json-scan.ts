/**
 * Positions inside JSON text that JSON.parse accepts. The engine forwards the bytes that came in, so it needs to know
 * where a value stands, not a copy of it: numbers over 2^53, member order and spacing survive. In any other text the
 * positions mean nothing, but every search ends.
 */

import type { JsonLimits } from '../../../lib/json/json-limits.ts';
import { stringEnd } from '../../../lib/json/json-string.ts';

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;
const FEW_KEYS = 64;

/** A half-open range of the text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member extends Span {
  readonly key: string;
  /** Where the member begins, its key included; `start` and `end` are those of the value. */
  readonly keyStart: number;
}

/** Index of the first character at or after `at` that is no white space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  while (text.charCodeAt(i) <= SPACE) i++;
  return i;
}

/** Index after the value that begins at `at`. */
export function valueEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return stringEnd(text, at);
  if (first !== OPEN_ARRAY && first !== OPEN_OBJECT) {
    let i = at;
    for (; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c === COMMA || c === CLOSE_ARRAY || c === CLOSE_OBJECT || c <= SPACE) break;
    }
    return i;
  }
  let depth = 0;
  for (let i = at; i < text.length;) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = stringEnd(text, i);
      continue;
    }
    i++;
    if (c === OPEN_ARRAY || c === OPEN_OBJECT) depth++;
    else if ((c === CLOSE_ARRAY || c === CLOSE_OBJECT) && --depth === 0) return i;
  }
  return text.length;
}

/** The members of the object that begins at or after `at` (white space is skipped); nothing for another value. */
export function* members(text: string, at = 0): Generator<Member> {
  let i = skipSpace(text, at);
  if (text.charCodeAt(i) !== OPEN_OBJECT) return;
  i = skipSpace(text, i + 1);
  while (text.charCodeAt(i) === QUOTE) {
    const keyStart = i;
    const keyEnd = stringEnd(text, i);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    const raw = text.slice(keyStart, keyEnd);
    yield { key: raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1), keyStart, start, end };
    i = skipSpace(text, end);
    if (text.charCodeAt(i) === COMMA) i = skipSpace(text, i + 1);
  }
}

/** The elements of the array that begins at or after `at`; nothing for another value. */
export function* elements(text: string, at = 0): Generator<Span> {
  let i = skipSpace(text, at);
  if (text.charCodeAt(i) !== OPEN_ARRAY) return;
  i = skipSpace(text, i + 1);
  while (i < text.length && text.charCodeAt(i) !== CLOSE_ARRAY) {
    const end = valueEnd(text, i);
    if (end === i) return;
    yield { start: i, end };
    i = skipSpace(text, end);
    if (text.charCodeAt(i) === COMMA) i = skipSpace(text, i + 1);
  }
}

/** Where the value at `path` stands, from the object that begins at `at`. Of duplicate keys the last counts. */
export function locate(text: string, path: readonly string[], at = 0): Span | undefined {
  let found: Span | undefined = { start: at, end: text.length };
  for (const key of path) {
    let next: Span | undefined;
    for (const member of members(text, found.start)) if (member.key === key) next = member;
    if (next === undefined) return undefined;
    found = next;
  }
  return found;
}

/** An object (JSON text) without its members of this name; the same where it has none. */
export function withoutMember(object: string, key: string): string {
  const all = [...members(object)];
  const kept = all.filter((member) => member.key !== key);
  if (kept.length === all.length) return object;
  return `{${kept.map(({ keyStart, end }) => object.slice(keyStart, end)).join(',')}}`;
}

/** Replaces several spans of a text, given in ascending order. */
export function splice(text: string, edits: readonly (Span & { with: string })[]): string {
  let out = '';
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.with;
    at = edit.end;
  }
  return out + text.slice(at);
}

export type ShapeProblem =
  /** It has more values or levels than may be read. */
  | { readonly kind: 'values' | 'depth' }
  | { readonly kind: 'duplicate'; readonly key: string }
  /** Means `key` to a parser that ignores case, and nothing to others. */
  | { readonly kind: 'variant'; readonly key: string };

/** Members that decide what a message is and what is done with it. */
const OF_MESSAGE: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const OF_PARAMS: ReadonlySet<string> = new Set(['name', 'arguments', '_meta', 'task', 'uri']);

/**
 * Finds what two JSON parsers may read differently, so that what the adapter checks is what the upstream does:
 * more values or levels than `limits`, members of a message or of its `params` that are named twice, and those that differ
 * from a name of the protocol only in case, which some parsers ignore. `base` is 1 inside a batch. One pass, strings are jumped over.
 * Meant to run before JSON.parse, for which these are expensive; throws a SyntaxError for a broken key.
 */
export function shapeProblem(text: string, limits: JsonLimits, base = 0): ShapeProblem | undefined {
  let depth = 0;
  // Each value but the first follows a comma or an opening bracket.
  let values = 1;
  const ofMessage = new Keys();
  const ofParams = new Keys();
  let inParams = false;
  for (let i = 0; i < text.length;) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      const end = stringEnd(text, i);
      const level = depth - 1 - base;
      if (level === 0 || (level === 1 && inParams)) {
        const next = skipSpace(text, end);
        if (text.charCodeAt(next) === COLON) {
          const raw = text.slice(i, end);
          const name = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
          const known = level === 0 ? OF_MESSAGE : OF_PARAMS;
          // Almost every key is one of these, and folding costs more than looking.
          const key = known.has(name) ? name : folded(name);
          if (!(level === 0 ? ofMessage : ofParams).add(key)) return { kind: 'duplicate', key };
          if (key !== name && known.has(key)) return { kind: 'variant', key };
          if (level === 0) inParams = key === 'params';
          i = next + 1;
          continue;
        }
      }
      i = end;
      continue;
    }
    i++;
    if (c === COMMA) {
      if (++values > limits.values) return { kind: 'values' };
    } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      if (++depth > limits.depth) return { kind: 'depth' };
      if (++values > limits.values) return { kind: 'values' };
      if (depth - 1 === base) {
        ofMessage.clear();
        ofParams.clear();
        inParams = false;
      }
    } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) depth--;
  }
  return undefined;
}

/** A key as the parsers compare it that ignore case: the long s is an s to them. */
export function folded(key: string): string {
  return key.toLowerCase().replaceAll('\u017f', 's');
}

/** The keys of one object. A list as long as it is short: a hash table for every message is what the collector pays. */
class Keys {
  readonly #few: string[] = [];
  #many: Set<string> | undefined;

  /** False when it is there already. */
  add(key: string): boolean {
    if (this.#many === undefined) {
      if (this.#few.includes(key)) return false;
      this.#few.push(key);
      if (this.#few.length > FEW_KEYS) this.#many = new Set(this.#few);
      return true;
    }
    if (this.#many.has(key)) return false;
    this.#many.add(key);
    return true;
  }

  clear(): void {
    this.#few.length = 0;
    this.#many = undefined;
  }
}
