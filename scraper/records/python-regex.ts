import { RE2JS } from 're2js';

/**
 * Whether a regular expression is found anywhere in a text, as with Python's `re.search`. RE2 runs it, so that no
 * pattern takes more than linear time; what Python writes differently is translated. RE2 has no look-around, no back
 * references, no possessive quantifiers and no verbose mode, and its `\b` knows ASCII only.
 *
 * @throws Error when the pattern is invalid, or needs what RE2 does not have
 */
export function compileSearch(pattern: string): (text: string) => boolean {
  const compiled = RE2JS.compile(toRe2(pattern));
  return (text) => compiled.test(text);
}

/** What is written differently: escapes, classes, comments, flags, `{,n}` and `$`. */
const TOKEN =
  /\\(?:u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|[^])|\[\^?\]?(?:\\[^]|[^\\\]])*\]|\(\?#[^)]*\)|\(\?(?<flags>[aiLmsux]+)\)|\{,(?<most>\d+)\}|\$/gu;
const ESCAPE = /\\(?:u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|[^])/gu;

/** Python's classes are those of Unicode, RE2's those of ASCII. */
const UNICODE: Readonly<Record<string, string>> = {
  d: String.raw`\p{Nd}`,
  w: String.raw`\p{L}\p{N}_`,
  s: String.raw`\t-\r\x1c-\x1f\x85\p{Z}`,
};

function toRe2(pattern: string): string {
  const ascii = /^\(\?[iLmsux]*a/.test(pattern);
  const multiline = /\(\?[a-zA-Z]*m/.test(pattern);
  return pattern.replaceAll(TOKEN, (token: string, ...rest: unknown[]) => {
    const { flags, most } = rest.at(-1) as { flags?: string; most?: string };
    if (token.startsWith('\\')) return escapeOutside(token, ascii);
    if (token.startsWith('[')) return `[${token.slice(1).replaceAll(ESCAPE, (escape) => escapeInside(escape, ascii))}`;
    if (most !== undefined) return `{0,${most}}`;
    // Python's $ also matches before a line break at the end.
    if (token === '$') return multiline ? token : String.raw`(?:\n?\z)`;
    const kept = flags?.replaceAll(/[aLu]/g, '') ?? '';
    return kept === '' ? '' : `(?${kept})`;
  });
}

function escapeOutside(escape: string, ascii: boolean): string {
  const name = escape.slice(1);
  if (name === 'Z') return String.raw`\z`;
  const unicode = ascii ? undefined : UNICODE[name.toLowerCase()];
  if (unicode === undefined) return escapeAnywhere(escape);
  return name === name.toLowerCase() ? `[${unicode}]` : `[^${unicode}]`;
}

/** In a class, only what is not negated can be written as several parts; `\W` and `\S` remain those of ASCII there. */
function escapeInside(escape: string, ascii: boolean): string {
  const name = escape.slice(1);
  if (name === 'b') return String.raw`\x08`;
  if (name === 'D' && !ascii) return String.raw`\P{Nd}`;
  return (ascii ? undefined : UNICODE[name]) ?? escapeAnywhere(escape);
}

function escapeAnywhere(escape: string): string {
  const name = escape.slice(1);
  if (/^[uU][\dA-Fa-f]{4}/.test(name)) return String.raw`\x{${name.slice(1)}}`;
  return (name.codePointAt(0) ?? 0) > 0x7f ? name : escape;
}
