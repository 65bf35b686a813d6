import { type Span, splice, valueEnd } from '../exchange/scanning/json-scan.ts';
import { hexRuns, MAY_HOLD_ID } from './hex-runs.ts';

/** A path that a tool was given or that was taken from it, and what is said instead of it. */
export type PathName =
  /** Below the folder called `id`, which is unique; `rest`: names from there on, `undefined` for whatever follows. */
  | { readonly id: string; readonly rest: string | undefined; readonly handle: string }
  /** Of the folder of a session, where nothing of the others lies below it. */
  | { readonly session: string; readonly handle: string }
  /** As the tool wrote it. */
  | { readonly text: string; readonly handle: string };

/** What a client gets to see of a folder, which no handle stands for. */
export const FOLDER = '(folder)';
/** What ends a path in a text, seen from its middle; a URL may have more in it. */
const STOPS = /[\s"'`<>()[\]{}|;,=*]/;
const URL_STOPS = /[\s"'`<>()[\]{}|]/;
const IS_URL = /^https?:/i;
const PUNCTUATION = /[.:!?]/;
/** What follows a path and leads to a place in the file. */
const PLACE = /[#?:]/;
/** An escaped character has so many. */
const ESCAPED_TIMES = 9;
/** So many characters of a path may only separate names. */
const SEPARATORS = 64;
const WORD = /[\w.~/\\%+@-]/;
const ID_CHARS = 32;
/** What stands before the id of a session in a path of our storage, whoever's it is. */
const IN_STORAGE = new RegExp(
  String.raw`(?:uploads|artifacts)(?:SEP[^/\\\s]{1,128})?SEPsessionsSEP$`.replaceAll(
    'SEP',
    String.raw`(?:[/\\]|%(?:25)*(?:2f|5c))+(?:\.(?:[/\\]|%(?:25)*(?:2f|5c))+)*`,
  ),
  'i',
);
const IN_STORAGE_CHARS = 256;
/** What stands before the ids of a handle. A handle says nothing of paths, and stays as it is. */
const IN_HANDLE = /:\/\/sessions\/(?:[0-9a-f]{32}\/)?$/;
const IN_HANDLE_CHARS = 48;

/**
 * A message (JSON) in whose strings, within `at`, paths are replaced by handles: absolute and relative ones, `file://` URIs, and
 * whatever escapes and upper case make of them. So are those of other sessions in our storage. Every other byte stays. Takes as long as the message, however many paths it has.
 */
export function withHandles(message: string, at: Span, names: readonly PathName[]): string {
  const mayName = MAY_HOLD_ID.test(message);
  const concerned = names.filter((name) => 'text' in name || mayName);
  if (concerned.length === 0) return message;
  const renamed = renaming(concerned);
  const edits: (Span & { with: string })[] = [];
  for (let start = message.indexOf('"', at.start); start !== -1 && start < at.end;) {
    const end = valueEnd(message, start);
    const raw = message.slice(start, end);
    const text = raw.includes('\\') ? parsed(raw) : raw.slice(1, -1);
    const said = text === undefined ? undefined : renamed(text);
    if (said !== undefined && said !== text) edits.push({ start, end, with: JSON.stringify(said) });
    start = message.indexOf('"', end);
  }
  return splice(message, edits);
}

/** A message of a session that belongs to no call that is known: paths of the storage, of whatever session, are a folder to it. */
export const withoutPaths = (message: string, sessionId: string): string =>
  withHandles(message, { start: 0, end: message.length }, [{ session: sessionId, handle: FOLDER }]);

/** Replaces paths in a text by handles. Of the names of one folder, the longest counts. */
export function renaming(names: readonly PathName[]): (text: string) => string {
  const texts = names.filter((name) => 'text' in name);
  const folders = new Map<string, Folder>();
  for (const name of names) {
    if ('text' in name) continue;
    const id = 'id' in name ? name.id : name.session;
    let folder = folders.get(id);
    if (folder === undefined)
      folders.set(id, (folder = { isSession: 'session' in name, byRest: new Map(), odd: [], longest: 0 }));
    addTo(folder, 'id' in name ? name.rest : undefined, name.handle);
  }
  for (const { odd } of folders.values()) odd.sort((a, b) => b.rest.length - a.rest.length);
  return (text) => withoutIds(texts.reduce(withoutText, text), folders);
}

/** What is said of paths below one folder. */
interface Folder {
  readonly isSession: boolean;
  /** By the names that follow, in normal form. */
  readonly byRest: Map<string, string>;
  /** Names in which a path would seem to end. */
  readonly odd: { readonly rest: string; readonly handle: string }[];
  longest: number;
  other?: string;
}

function addTo(folder: Folder, rest: string | undefined, handle: string): void {
  if (rest === undefined) folder.other ??= handle;
  else {
    const normal = normalForm(rest);
    if (!folder.byRest.has(normal)) folder.byRest.set(normal, handle);
    folder.longest = Math.max(folder.longest, rest.length);
    if (STOPS.test(rest) || PLACE.test(rest)) folder.odd.push({ rest, handle });
  }
}

/** An id in a text, and the path around it. */
interface Hit {
  readonly folder: Folder;
  readonly start: number;
  readonly end: number;
}

function withoutIds(text: string, folders: ReadonlyMap<string, Folder>): string {
  if (folders.size === 0 || !MAY_HOLD_ID.test(text)) return text;
  const hits = [...idsIn(text, folders)];
  const files = hits.filter(({ folder }) => !folder.isSession);
  let said = '';
  let from = 0;
  let next = 0;
  let path = { start: 0, end: 0, isUrl: false };
  for (const { folder, start: at, end: idEnd } of hits) {
    while ((files[next]?.start ?? Infinity) <= at) next++;
    if (at < from || IN_HANDLE.test(text.slice(Math.max(0, at - IN_HANDLE_CHARS), at))) continue;
    // Once for all ids in it.
    if (at >= path.end) path = pathAround(text, at, idEnd, from);
    // The client's own URLs may name its session; what is more precise comes later in the same path.
    if (folder.isSession && (path.isUrl || (files[next]?.start ?? Infinity) < path.end)) continue;
    const found = named(folder, text, idEnd, path.end);
    if (found === undefined) continue;
    said += text.slice(from, Math.max(from, path.start)) + found.handle;
    from = found.end;
  }
  return said + text.slice(from);
}

function* idsIn(text: string, folders: ReadonlyMap<string, Folder>): Generator<Hit> {
  for (const { digits, places } of hexRuns(text, ID_CHARS)) {
    for (let at = 0; at + ID_CHARS <= digits.length; at++) {
      const [start, end] = [places[at], places[at + ID_CHARS]];
      if (start === undefined || end === undefined) continue;
      const isLast = at + ID_CHARS === digits.length;
      const known = folders.get(digits.slice(at, at + ID_CHARS));
      const folder = known ?? (isLast && isStored(text, start) ? STRANGER : undefined);
      if (folder === undefined) continue;
      yield { folder, start, end };
      at += ID_CHARS - 1;
    }
  }
}

/** Of a session that has nothing to do with the call. */
const STRANGER: Folder = { isSession: true, byRest: new Map(), odd: [], longest: 0, other: FOLDER };

const isStored = (text: string, at: number): boolean =>
  IN_STORAGE.test(text.slice(Math.max(0, at - IN_STORAGE_CHARS), at));

/** What a path is called whose folder's name ends at `at`, and where it ends; undefined: it is another one. */
function named(
  { byRest, odd, longest, other }: Folder,
  text: string,
  at: number,
  pathEnd: number,
): { readonly handle: string; readonly end: number } | undefined {
  const isAbove = /[/\\]/.test(text.charAt(at));
  for (const { rest, handle } of isAbove ? odd : []) {
    const end = at + 1 + rest.length;
    if (text.startsWith(rest, at + 1) && !/[\w-]/.test(text.charAt(end))) return { handle, end };
  }
  if (byRest.size > 0) {
    const path = text.slice(at, Math.min(pathEnd, at + ESCAPED_TIMES * longest + SEPARATORS));
    const cut = path.search(PLACE);
    for (const length of cut === -1 ? [path.length] : [cut, path.length]) {
      const handle = byRest.get(normalForm(path.slice(0, length)));
      if (handle !== undefined) return { handle, end: at + length };
    }
  }
  return other === undefined ? undefined : { handle: other, end: Math.max(at, pathEnd) };
}

/** Names without what only separates them, and without escapes. */
function normalForm(path: string): string {
  let plain = path;
  try {
    if (path.includes('%')) plain = decodeURIComponent(path);
  } catch {
    // Not an escape then.
  }
  return plain
    .split(/[/\\]/)
    .filter((name) => name !== '' && name !== '.')
    .join('/');
}

/** The path that an id is a part of, without the end of the sentence. */
function pathAround(
  text: string,
  at: number,
  idEnd: number,
  least: number,
): { start: number; end: number; isUrl: boolean } {
  let start = at;
  while (start > least && !STOPS.test(text.charAt(start - 1))) start--;
  const isUrl = IS_URL.test(text.slice(start, start + 'https:'.length));
  const stops = isUrl ? URL_STOPS : STOPS;
  let end = idEnd;
  while (end < text.length && !stops.test(text.charAt(end))) end++;
  while (end > idEnd && PUNCTUATION.test(text.charAt(end - 1))) end--;
  return { start, end, isUrl };
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
