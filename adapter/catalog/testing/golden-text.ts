import { createHash } from 'node:crypto';

/** Longer ones stand in a golden file as a hash with their beginning. */
const LONGEST = 1500;
const BEGINNING = 160;

/** A text for a golden file: one line of ASCII, whatever is not being written as `\u{200b}`. */
export function goldenText(text: string): string {
  if (text.length <= LONGEST) return inAscii(text);
  const hash = createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, 32);
  return `sha256 ${hash}, ${text.length} characters, beginning with ${inAscii(text.slice(0, BEGINNING))}`;
}

/** In contrast to the escapes of JSON, which stay as they are. */
function inAscii(text: string): string {
  return text.replaceAll(/[^ -~]/gu, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
}
