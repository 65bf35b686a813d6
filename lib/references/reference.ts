import { ExactNumber } from '../json/exact-number.ts';
import type { Path } from '../json/tree.ts';

/** The variables that references resolve from, for example `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the text holds at least one reference to an environment variable. */
export function hasReference(text: string): boolean {
  return references(text).next().done !== true;
}

/**
 * Replaces every reference in the text. An empty variable counts as unset. A reference that is unset and has no default
 * stays as it is, and its name is listed in `unset`: loading must fail then (adapter specification, section 1,
 * convention 2). Values are inserted as they are: a `${…}` inside a value is not resolved again.
 */
export function interpolate(text: string, env: Environment): { text: string; unset: string[] } {
  const unset: string[] = [];
  const result = replaced(text, ({ written, name, fallback }) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    unset.push(name);
    return written;
  });
  return { text: result, unset };
}

/** Gives every variable that the text refers to another name; defaults and all else stay as they are. */
export function renameReferences(text: string, rename: (name: string) => string): string {
  return replaced(text, ({ name, fallback }) =>
    fallback === undefined ? `\${${rename(name)}}` : `\${${rename(name)}:-${fallback}}`,
  );
}

/**
 * How long the text becomes when its references are resolved, without resolving them.
 * @param lengthOf of the value of a variable; 0 when it is unset or not known
 */
export function resolvedLength(text: string, lengthOf: (name: string) => number): number {
  let length = text.length;
  for (const { written, name, fallback } of references(text)) {
    length += (lengthOf(name) || (fallback ?? written).length) - written.length;
  }
  return length;
}

/** `${NAME}` or `${NAME:-default}`. The default may be empty and holds no `}`; references do not nest. */
interface Reference {
  /** Where it begins. */
  readonly index: number;
  readonly written: string;
  readonly name: string;
  readonly fallback: string | undefined;
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

/** Goes over the text once and never back, whatever it holds: authors of resources are not all friends. */
function* references(text: string): Generator<Reference> {
  let index = text.indexOf('${');
  while (index >= 0) {
    NAME.lastIndex = index + 2;
    const name = NAME.exec(text)?.[0];
    let next = index + 2 + (name?.length ?? 0);
    if (name !== undefined && text.startsWith(':-', next)) {
      const close = text.indexOf('}', next);
      // Nor is there one for any that begins later.
      if (close < 0) return;
      const fallback = text.slice(next + 2, close);
      next = close + 1;
      yield { index, written: text.slice(index, next), name, fallback };
    } else if (name !== undefined && text[next] === '}') {
      next += 1;
      yield { index, written: text.slice(index, next), name, fallback: undefined };
    }
    index = text.indexOf('${', next);
  }
}

function replaced(text: string, replace: (reference: Reference) => string): string {
  const parts: string[] = [];
  let rest = 0;
  for (const reference of references(text)) {
    parts.push(text.slice(rest, reference.index), replace(reference));
    rest = reference.index + reference.written.length;
  }
  return rest === 0 ? text : parts.join('') + text.slice(rest);
}

/** What `interpolateAll` met on its way. */
export interface ReferenceFound {
  path: Path;
  /** The text as it was written. */
  written: string;
  /** Names of the variables that are unset and have no default. */
  unset: string[];
}

/**
 * Interpolates every string value of a document (not its keys) and returns a new one, with all strings that held a
 * reference. The document must be a tree.
 */
export function interpolateAll(document: unknown, env: Environment): { value: unknown; found: ReferenceFound[] } {
  const found: ReferenceFound[] = [];
  const visit = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      if (!hasReference(value)) return value;
      const { text, unset } = interpolate(value, env);
      found.push({ path, written: value, unset });
      return text;
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber)) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, [...path, key])]));
    }
    return value;
  };
  return { value: visit(document, []), found };
}
