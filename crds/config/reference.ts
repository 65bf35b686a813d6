import type { Path } from './tree.ts';

/** `${NAME}` or `${NAME:-default}`. The default may be empty and holds no `}`; references do not nest. */
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/;

/** The variables that references resolve from, for example `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the text holds at least one reference to an environment variable. */
export function hasReference(text: string): boolean {
  return REFERENCE.test(text);
}

/**
 * Replaces every reference in the text. An empty variable counts as unset. A reference that is unset and has no default
 * stays as it is, and its name is listed in `unset`: loading must fail then (adapter specification, section 1,
 * convention 2). Values are inserted as they are: a `${…}` inside a value is not resolved again.
 */
export function interpolate(text: string, env: Environment): { text: string; unset: string[] } {
  const unset: string[] = [];
  const result = text.replaceAll(new RegExp(REFERENCE, 'g'), (reference, name: string, fallback?: string) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    unset.push(name);
    return reference;
  });
  return { text: result, unset };
}

/** Gives every variable that the text refers to another name; defaults and all else stay as they are. */
export function renameReferences(text: string, rename: (name: string) => string): string {
  return text.replaceAll(new RegExp(REFERENCE, 'g'), (_, name: string, fallback?: string) =>
    fallback === undefined ? `\${${rename(name)}}` : `\${${rename(name)}:-${fallback}}`,
  );
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
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, [...path, key])]));
    }
    return value;
  };
  return { value: visit(document, []), found };
}
