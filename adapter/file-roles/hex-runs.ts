/** Hexadecimal digits in a row, in lower case and without escapes. */
export interface HexRun {
  readonly digits: string;
  /** Where each begins in the text, and where the last one ends. */
  readonly places: readonly number[];
}

/**
 * Whether there may be a long run in a text or in JSON. Ids are random: nothing else has 32 digits in a row but hashes, and
 * few texts escape digits.
 */
export const MAY_HOLD_ID = /[0-9a-f]{32}|%[3-6][0-9a-f]|%25|\\u00[3-6]/i;

/** With at most eight layers of escapes: those of JSON in JSON, those of URIs in URIs. */
const ESCAPED = /%(?:25){0,8}([346][0-9a-f])|\\{1,8}u00([346][0-9a-f])/iy;
const PERCENT = 0x25;
const BACKSLASH = 0x5c;

/** The runs of at least so many hexadecimal digits in a text, also where they are percent-encoded or escaped as in JSON. */
export function* hexRuns(text: string, least: number): Generator<HexRun> {
  let digits = '';
  let places: number[] = [];
  for (let at = 0; at <= text.length;) {
    const { digit, length } = digitAt(text, at);
    if (digit !== '') {
      digits += digit;
      places.push(at);
      at += length;
      continue;
    }
    if (digits.length >= least) yield { digits, places: [...places, at] };
    digits = '';
    if (places.length > 0) places = [];
    at += 1;
  }
}

function digitAt(text: string, at: number): { readonly digit: string; readonly length: number } {
  const code = text.charCodeAt(at);
  if ((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66)) return { digit: text.charAt(at), length: 1 };
  if (code >= 0x41 && code <= 0x46) return { digit: String.fromCharCode(code + 0x20), length: 1 };
  if (code !== PERCENT && code !== BACKSLASH) return NONE;
  ESCAPED.lastIndex = at;
  const [whole = '', percent, json] = ESCAPED.exec(text) ?? [];
  const said = String.fromCharCode(Number.parseInt(percent ?? json ?? '0', 16)).toLowerCase();
  return /^[0-9a-f]$/.test(said) ? { digit: said, length: whole.length } : NONE;
}

const NONE = { digit: '', length: 0 };
