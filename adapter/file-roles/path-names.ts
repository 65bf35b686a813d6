import { type Span, splice, valueEnd } from '../exchange/scanning/json-scan.ts';

/** A path that a tool was given or that was taken from it, and what is said instead of it. */
export type PathName =
  /** Below the folder called `id`, which is unique; `rest`: names from there on, `undefined` for whatever follows. */
  | { readonly id: string; readonly rest: string | undefined; readonly handle: string }
  /** As the tool wrote it. */
  | { readonly text: string; readonly handle: string };

/** What ends a path in a text, seen from its middle. */
const STOPS = /[\s"'`<>()[\]{}|;,=*]/;
const PUNCTUATION = /[.:!?]/;
const WORD = /[\w.~/\\%+@-]/;
const MAX_PATH_CHARS = 4096;

/**
 * A message (JSON) in whose strings, within `at`, paths are replaced by handles: absolute and relative ones, `file://` URIs and
 * their escaped forms. Every other byte stays.
 */
export function withHandles(message: string, at: Span, names: readonly PathName[]): string {
  const concerned = names.filter((name) => 'text' in name || message.includes(name.id));
  if (concerned.length === 0) return message;
  const edits: (Span & { with: string })[] = [];
  for (let start = message.indexOf('"', at.start); start !== -1 && start < at.end;) {
    const end = valueEnd(message, start);
    const raw = message.slice(start, end);
    const text = raw.includes('\\') ? parsed(raw) : raw.slice(1, -1);
    const renamed = text === undefined ? undefined : renamedText(text, concerned);
    if (renamed !== undefined && renamed !== text) edits.push({ start, end, with: JSON.stringify(renamed) });
    start = message.indexOf('"', end);
  }
  return splice(message, edits);
}

/** A text in which paths are replaced by handles. */
export function renamedText(text: string, names: readonly PathName[]): string {
  return names.reduce((said, name) => ('text' in name ? withoutText(said, name) : withoutId(said, name)), text);
}

function withoutId(text: string, { id, rest, handle }: Extract<PathName, { id: string }>): string {
  let said = '';
  let from = 0;
  for (let at = text.indexOf(id); at !== -1; at = text.indexOf(id, from)) {
    const end = endOf(text, at + id.length, rest);
    if (end === undefined) {
      said += text.slice(from, at + id.length);
      from = at + id.length;
      continue;
    }
    said += text.slice(from, startOf(text, at, from)) + handle;
    from = end;
  }
  return said + text.slice(from);
}

/** Where a path begins that goes on at `at`. */
function startOf(text: string, at: number, least: number): number {
  let start = at;
  while (start > least && at - start < MAX_PATH_CHARS && !STOPS.test(text.charAt(start - 1))) start--;
  return start;
}

/** Where a path ends whose folder ends at `at`; undefined: it is another one. */
function endOf(text: string, at: number, rest: string | undefined): number | undefined {
  if (rest === undefined) {
    let end = at;
    while (end < text.length && end - at < MAX_PATH_CHARS && !STOPS.test(text.charAt(end))) end++;
    // The end of the sentence.
    while (end > at && PUNCTUATION.test(text.charAt(end - 1))) end--;
    return end;
  }
  for (const form of [
    rest,
    encodeURI(rest),
    rest.split('/').map(encodeURIComponent).join('/'),
    rest.replaceAll('/', '\\'),
  ]) {
    const end = at + 1 + form.length;
    if (/[/\\]/.test(text.charAt(at)) && text.startsWith(form, at + 1) && !/[\w-]/.test(text.charAt(end))) return end;
  }
  return undefined;
}

function withoutText(text: string, { text: path, handle }: Extract<PathName, { text: string }>): string {
  let said = '';
  let from = 0;
  for (let at = text.indexOf(path); at !== -1; at = text.indexOf(path, at + 1)) {
    const end = at + path.length;
    const isPart = (at > 0 && WORD.test(text.charAt(at - 1))) || /[\w/-]/.test(text.charAt(end));
    if (at < from || isPart) continue;
    said += text.slice(from, at) + handle;
    from = end;
  }
  return said + text.slice(from);
}

function parsed(raw: string): string | undefined {
  try {
    return JSON.parse(raw) as string;
  } catch {
    return undefined;
  }
}
