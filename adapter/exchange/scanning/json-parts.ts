/** JSON text that comes in parts: what its characters are, and where strings and scalars end. */

const BACKSLASH = 0x5c;

/** What a character outside of strings may be; all that is left out no JSON has there. */
export const SPACE = 1;
export const SCALAR = 2;
export const OPEN = 3;
export const CLOSE = 4;
const OTHER = 5;
export const KINDS = new Uint8Array(128);
for (const [chars, kind] of [
  [' \t\n\r', SPACE],
  // Of numbers, true, false and null; NaN and Infinity, which some parsers read, have others.
  ['+-.0123456789eEtrufalsn', SCALAR],
  ['{[', OPEN],
  ['}]', CLOSE],
  ['",:', OTHER],
] as const) {
  for (const char of chars) KINDS[char.charCodeAt(0)] = kind;
}

/** Whether the text ends with a backslash that the next character belongs to, in a string whose rest begins at `from`. */
export function endsEscaped(text: string, from: number): boolean {
  let at = text.length;
  while (at > from && text.charCodeAt(at - 1) === BACKSLASH) at--;
  return (text.length - at) % 2 === 1;
}

/** Index after the characters of a number or a name. */
export function scalarEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && KINDS[text.charCodeAt(at)] === SCALAR) at++;
  return at;
}
