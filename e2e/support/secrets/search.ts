import { createReadStream } from 'node:fs';
import { isSearching, noteRecord } from './records.ts';
import { MARKER } from './secret.ts';

export interface Found {
  /** What the secret is for, and how it was written. */
  readonly secret: string;
  /** What stands around it. */
  readonly context: string;
}

/** What stays the same of the marker in Base64, wherever it stands in what is encoded. */
const IN_BASE64 = [0, 1, 2].map((offset) => {
  const text = Buffer.from('x'.repeat(offset) + MARKER).toString('base64');
  // The first group holds what stands before, and the last one what stands behind.
  return text.slice(offset === 0 ? 0 : 4, offset === 0 ? 8 : 12);
});
const FORMS = new RegExp([MARKER, ...IN_BASE64].join('|'), 'g');
const LONGEST = Math.max(MARKER.length, ...IN_BASE64.map(({ length }) => length));
/** What stands behind a marker, up to the part that is random. */
const NAME = /^[A-Za-z]*?(?=[0-9a-f]{12}|[^A-Za-z]|$)/;
const CONTEXT = 100;
/** Of one output: more of them say nothing more. */
const MOST_FOUND = 3;

/** The secrets of the tests that stand in a text. */
export function secretsIn(text: string): Found[] {
  return [...text.matchAll(FORMS)].slice(0, MOST_FOUND).map(({ 0: form, index }) => {
    const context = text.slice(Math.max(0, index - CONTEXT), index + CONTEXT);
    if (form !== MARKER) return { secret: 'one, in Base64', context };
    return { secret: NAME.exec(text.slice(index + MARKER.length))?.[0] ?? '', context };
  });
}

/** Searches an output that comes in pieces, at whose ends a secret may be cut. */
export class OutputSearch {
  readonly #onFound: (found: Found) => void;
  #end = '';
  #count = 0;

  constructor(onFound: (found: Found) => void) {
    this.#onFound = onFound;
  }

  push(text: string): void {
    if (this.#count >= MOST_FOUND) return;
    const all = this.#end + text;
    const found = secretsIn(all);
    this.#count += found.length;
    for (const one of found) this.#onFound(one);
    // One less than a marker, so that none is found twice.
    this.#end = all.slice(Math.max(0, all.length - LONGEST + 1));
  }
}

/** Where the present tests stand. */
let place = '';
export function setPlace(file: string): void {
  place = file;
}

/** What is to be told everything that an output says; undefined when nothing is searched. */
export function searchOutput(source: string): ((text: string) => void) | undefined {
  if (!isSearching()) return undefined;
  const named = place === '' ? source : `${source} (${place})`;
  noteRecord({ kind: 'output', source: named });
  const search = new OutputSearch((found) => noteRecord({ kind: 'found', source: named, ...found }));
  return (text) => search.push(text);
}

/** Searches a file that a program has written. One that does not exist has nothing in it. */
export async function searchFile(source: string, path: string): Promise<void> {
  const push = searchOutput(source);
  if (push === undefined) return;
  try {
    for await (const text of createReadStream(path, 'utf8') as AsyncIterable<string>) push(text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
