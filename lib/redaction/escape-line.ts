/** Controls of both ranges, characters that change how others are shown, and separators that end a line for some. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Nearly all lines. */
const PLAIN = /^[\n -~]*$/;

/**
 * A line of JSON (with its line feed) that says the same and shows nothing but what it says: terminals act on control
 * characters, of which JSON itself escapes the first range only (RFC 8259, section 7).
 */
export function escapeLine(line: string): string {
  if (PLAIN.test(line)) return line;
  return line.replaceAll(UNSAFE, (character) => (character === '\n' ? character : escaped(character)));
}

function escaped(character: string): string {
  let text = '';
  for (let index = 0; index < character.length; index++) {
    text += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return text;
}
