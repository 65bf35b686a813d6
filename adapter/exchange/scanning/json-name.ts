import { folded } from './json-scan.ts';

/** Longer than any id that clients send, and than any name that is looked for. */
export const LONGEST_NAME = 2048;

/**
 * What a string of JSON says, without its quotation marks; undefined where it is none.
 * @param isBytes its bytes came as characters, one each (latin1)
 */
export function decoded(raw: string, isBytes: boolean): string | undefined {
  const text = isBytes ? Buffer.from(raw, 'latin1').toString() : raw;
  try {
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  } catch {
    return undefined;
  }
}

/** The name of a member as parsers read it that ignore case. Undefined: none that is looked for. */
export function nameOf(raw: string, isBytes: boolean): string | undefined {
  const name = raw.length > LONGEST_NAME ? undefined : decoded(raw, isBytes);
  return name === undefined ? undefined : folded(name);
}
