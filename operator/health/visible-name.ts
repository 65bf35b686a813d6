/** What is told of a name. */
const MAX_CHARS = 128;

/**
 * A name that a stranger chose, for a status: nothing but visible ASCII, so that no letter passes for another, all else
 * as `\u{200b}`. It is cut where it is long.
 */
export const visibleName = (name: string): string =>
  name.slice(0, MAX_CHARS).replaceAll(/[^ -~]/gu, escaped) + (name.length > MAX_CHARS ? '…' : '');

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
