import { hash } from 'node:crypto';
import { members } from '../exchange/scanning/json-scan.ts';
import { canonicalJson, type Meaning } from './canonical-json.ts';
import type { CleanEntry, ListKind } from './list-cleaning.ts';

/** Of a name, and of what stands under it: 72 bits each. */
const HASH_CHARS = 12;
const ROW_CHARS = 2 * HASH_CHARS;
/** More of one list are not remembered. */
const MAX_ROWS = 5_000;

/** What of an entry a model reads. Sizes and times of resources change all the time. */
const READ: Readonly<Record<ListKind, Readonly<Record<string, Meaning>>>> = {
  prompt: { name: 'data', title: 'text', description: 'text', arguments: 'other', icons: 'other' },
  resource: { uri: 'data', name: 'data', title: 'text', description: 'text', mimeType: 'data', icons: 'other' },
  template: { uriTemplate: 'data', name: 'data', title: 'text', description: 'text', mimeType: 'data', icons: 'other' },
};

/** A list, as far as it is remembered what was seen first: a row of hashes for each entry. */
export function rowsOf(entries: readonly CleanEntry[], kind: ListKind): string {
  return entries
    .slice(0, MAX_ROWS)
    .map((entry) => short(entry.id ?? '') + short(readOf(entry.text, kind)))
    .join('');
}

/** The same of one text. */
export const rowOf = (text: string): string => short(text);

export type Since = 'same' | 'changed' | 'new';

/**
 * What each entry is, compared with what was seen first; undefined when all are the same. Where more was seen than is
 * remembered, nothing is known to be new.
 */
export function since(first: string, now: string): Since[] | undefined {
  if (first === now) return undefined;
  const unknown: Since = first.length < MAX_ROWS * ROW_CHARS ? 'new' : 'same';
  const seen = new Map<string, Set<string>>();
  for (const [id, text] of rows(first)) {
    const texts = seen.get(id);
    if (texts === undefined) seen.set(id, new Set([text]));
    else texts.add(text);
  }
  const all = Array.from(rows(now), ([id, text]): Since => {
    const texts = seen.get(id);
    if (texts === undefined) return unknown;
    return texts.has(text) ? 'same' : 'changed';
  });
  return all.every((one) => one === 'same') ? undefined : all;
}

function* rows(text: string): Generator<[id: string, text: string]> {
  for (let at = 0; at < text.length; at += ROW_CHARS) {
    yield [text.slice(at, at + HASH_CHARS), text.slice(at + HASH_CHARS, at + ROW_CHARS)];
  }
}

function readOf(entry: string, kind: ListKind): string {
  const known = READ[kind];
  const parts: string[] = [];
  for (const { key, start } of members(entry)) {
    const meaning = Object.hasOwn(known, key) ? known[key] : undefined;
    if (meaning !== undefined) parts.push(`${key}:${canonicalJson(entry, start, meaning)}`);
  }
  return parts.toSorted().join('\n');
}

function short(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, HASH_CHARS);
}
