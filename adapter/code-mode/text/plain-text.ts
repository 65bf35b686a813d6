/**
 * Words of others inside a text with a form of its own. Upstreams choose names and descriptions; none of them may look
 * like a heading, a list item or a line that the adapter wrote.
 */

const CUT = '…';
/** A name that reads the same with and without quotation marks. */
const PLAIN_NAME = /^[\p{L}\p{N}_$][\p{L}\p{N}_$.:/@-]*$/u;
const MAX_NAME = 256;
/** Controls, format characters (invisible, bidirectional), fillers, lone surrogates and separators of lines. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/u;
const EACH_UNSEEN = new RegExp(UNSEEN, 'gu');
/** How much of a text is looked at for each character that is shown: white space may be removed from it. */
const LOOK = 4;

/** At most so many UTF-16 units, never half a character. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = Math.max(0, max - CUT.length);
  if (isHighSurrogate(text.charCodeAt(end - 1))) end--;
  return text.slice(0, end) + CUT;
}

/** Everything on one line, with single blanks. */
export function oneLine(text: string, max: number): string {
  const line = cut(text, max * LOOK).replaceAll(/[\s\p{Cc}]+/gu, ' ');
  return cut(line.trim(), max);
}

/** The lines of a text, each marked as a quotation. */
export function quotation(text: string, max: number): string {
  return cut(text.trim(), max)
    .split(/\r\n?|[\n\v\f\u0085\u2028\u2029]/)
    .map((line) => (line.trim() === '' ? '>' : `> ${line.replaceAll(/[^\P{Cc}\t]/gu, ' ').trimEnd()}`))
    .join('\n');
}

/** A name as it must be written to be called: plain, or as a JSON string where it has characters that mislead. */
export function shownName(name: string): string {
  return name.length <= MAX_NAME && PLAIN_NAME.test(name) && !UNSEEN.test(name) ? name : literal(name, MAX_NAME);
}

/** A value as JSON on one line, with escapes for what cannot be seen. Cut after so many UTF-16 units; escapes are longer. */
export function literal(value: unknown, max: number): string {
  const json = typeof value === 'string' ? JSON.stringify(cut(value, max)) : cut(jsonOf(value), max);
  return json.replaceAll(EACH_UNSEEN, escaped);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    // Nested deeper than the stack is.
    return Array.isArray(value) ? '[…]' : '{…}';
  }
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
