import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is known of secrets and outputs after a run, whichever process found it out. */
export type SearchRecord =
  /** A secret was made. */
  | { readonly kind: 'secret'; readonly name: string }
  /** An output was searched. */
  | { readonly kind: 'output'; readonly source: string }
  /** A secret stood in an output. */
  | { readonly kind: 'found'; readonly source: string; readonly secret: string; readonly context: string };

/** The folder of the records. Without it, nothing is searched: somebody runs single tests. */
export const SEARCH_DIR = 'SECRETS_SEARCH_DIR';

const FILE = 'records.jsonl';

export const isSearching = (): boolean => process.env[SEARCH_DIR] !== undefined;

/** Adds a record. Many processes do so at a time; each line is one write. */
export function noteRecord(record: SearchRecord): void {
  const folder = process.env[SEARCH_DIR];
  if (folder !== undefined) appendFileSync(join(folder, FILE), `${JSON.stringify(record)}\n`);
}

/** All records of a folder; none when nothing wrote any. */
export function readRecords(folder: string): SearchRecord[] {
  let text;
  try {
    text = readFileSync(join(folder, FILE), 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as SearchRecord);
}
