import { fileURLToPath } from 'node:url';

const MAX_PATH_CHARS = 4096;
/** Of one text. Whoever names a file does so before this. */
const MAX_STARTS = 1024;
/** The start of a URI of any scheme, or a slash. The scheme is bounded, so that a long word costs no more than others. */
const START = /[a-z][a-z0-9+.-]{0,15}:\/\/|\//gi;
const URI_END = /[\s"'`<>]|$/g;
const BARE_END = /[\s"'`<>|]|$/g;
/** What stands before a slash that is within a word, a relative path or a URL. */
const WITHIN_WORD = /[\w.~\-/\\%$@)\]}&?#!+^]/;
const QUOTES = '"\'`';
const TRAILING = /[.,;:!?'"`)\]}>*_]$/;

/**
 * The absolute POSIX paths in a text, in its order: bare ones, quoted ones (spaces may be in them), in backticks, in
 * Markdown links, and `file://` URIs. Never a part of another URI. At most about `limit`, among the first that look like one.
 */
export function pathsInText(text: string, limit: number): string[] {
  const found: string[] = [];
  let starts = 0;
  START.lastIndex = 0;
  for (let start = START.exec(text); start !== null && found.length < limit; start = START.exec(text)) {
    const [word] = start;
    const at = start.index;
    const isFile = word.toLowerCase() === 'file://';
    if (word !== '/' && !isFile) START.lastIndex = endAt(text, at, URI_END);
    else if (word === '/' && !beginsPath(text, at)) continue;
    else {
      if (++starts > MAX_STARTS) break;
      const { candidates, end } = read(text, at);
      found.push(...candidates.flatMap((candidate) => pathOf(candidate) ?? []));
      START.lastIndex = Math.max(end, at + 1);
    }
  }
  return found;
}

/** What a pattern of the user found, as it is and without the punctuation around it. */
export function cleanedPaths(text: string): string[] {
  let inner = text.trim();
  const quote = inner.charAt(0);
  if (inner.length > 1 && QUOTES.includes(quote) && inner.endsWith(quote)) inner = inner.slice(1, -1);
  return withoutPunctuation(inner).flatMap((one) => pathOf(one) ?? []);
}

/** An absolute path, also from a `file://` URI of this machine; undefined for anything else. */
export function pathOf(text: string): string | undefined {
  let path = text;
  if (/^file:\/\//i.test(text)) {
    try {
      path = fileURLToPath(text, { windows: false });
    } catch {
      return undefined;
    }
  }
  const isPath = path.startsWith('/') && !path.endsWith('/') && !path.includes('\0') && path.length <= MAX_PATH_CHARS;
  return isPath ? path : undefined;
}

function beginsPath(text: string, at: number): boolean {
  const next = text.charAt(at + 1);
  if (next === '' || next === '/' || /\s/.test(next)) return false;
  return at === 0 || !WITHIN_WORD.test(text.charAt(at - 1));
}

/** The path that begins at `at`, in the order of likelihood, and where it ends. */
function read(text: string, at: number): { candidates: string[]; end: number } {
  const before = text.charAt(at - 1);
  if (before !== '' && QUOTES.includes(before)) {
    const end = closing(text, at, before);
    if (end !== -1) return { candidates: [text.slice(at, end)], end };
  }
  const isLink = before === '(' && text.charAt(at - 2) === ']';
  if (isLink || (before === '<' && text.slice(at - 3, at - 1) === '](')) {
    const end = closing(text, at, isLink ? ')' : '>');
    if (end !== -1) return { candidates: linkTargets(text.slice(at, end)), end };
  }
  const end = Math.min(endAt(text, at, BARE_END), at + MAX_PATH_CHARS);
  return { candidates: withoutPunctuation(text.slice(at, end)), end };
}

/** Where a quotation or a link ends, on the same line; -1 when it does not. Parentheses may be in pairs. */
function closing(text: string, at: number, close: string): number {
  let open = 0;
  const last = Math.min(text.length, at + MAX_PATH_CHARS);
  for (let i = at; i < last; i++) {
    const c = text.charAt(i);
    if (c === '\n') return -1;
    if (c === '(' && close === ')') open++;
    else if (c === close && open-- === 0) return i;
  }
  return -1;
}

/** The target of a link as it is, without a title, and with its escapes resolved. */
function linkTargets(text: string): string[] {
  const bare = text.replace(/\s["'(][^\n]*$/, '').trim();
  const candidates = [text.trim(), bare];
  try {
    if (bare.startsWith('/')) candidates.push(decodeURIComponent(bare));
  } catch {
    // Not an escape then.
  }
  return [...new Set(candidates)];
}

/** The text, then without its last character for as long as that may belong to the sentence around it. */
function withoutPunctuation(text: string): string[] {
  const all = [text];
  for (let one = text; TRAILING.test(one) && all.length < 8;) {
    one = one.slice(0, -1);
    all.push(one);
  }
  return all;
}

function endAt(text: string, from: number, end: RegExp): number {
  end.lastIndex = from;
  return end.exec(text)?.index ?? text.length;
}
