import { parse, stringify } from 'yaml';
import { isObject } from '../../../lib/json/json-object.ts';

/** The file that a shard's pods read: the configuration of the scraper, with references instead of values. */

const HEADER = '# Written by mcp-operator from ApiScrapeSource resources. Changes made here are undone.\n';
const MARK = '# ApiScrapeSource ';

/** The version of YAML that the scraper reads. */
const VERSION = { version: '1.2' } as const;

/** Sorted as the API server sorts, so that resources rendered from files give the same text as those in a cluster. */
const yaml = (value: unknown): string =>
  stringify(value, { ...VERSION, sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });

/** One source of the file, below the name of its resource. */
export const renderEntry = (resource: string, entry: unknown): string => `${MARK}${resource}\n${yaml([entry])}`;

/** @param entries what `renderEntry` gave, in order */
export function renderFile(scraper: Readonly<Record<string, unknown>>, entries: readonly string[]): string {
  const sources = entries.length === 0 ? 'sources: []\n' : `sources:\n${entries.join('')}`;
  return `${HEADER}${yaml({ scraper })}${sources}`;
}

export interface FileContent {
  readonly scraper: Record<string, unknown>;
  /** Entries by the name of their resource. */
  readonly entries: ReadonlyMap<string, Record<string, unknown>>;
}

/** Reads a file that `renderFile` made; undefined for any other. */
export function readFile(text: string): FileContent | undefined {
  let document: unknown;
  try {
    document = parse(text, VERSION);
  } catch {
    return undefined;
  }
  if (!isObject(document) || !isObject(document['scraper']) || !Array.isArray(document['sources'])) return undefined;
  const resources = text.split('\n').filter((line) => line.startsWith(MARK));
  const sources = document['sources'].filter(isObject);
  if (resources.length !== sources.length) return undefined;
  return {
    scraper: document['scraper'],
    entries: new Map(resources.map((line, index) => [line.slice(MARK.length), sources[index] ?? {}])),
  };
}
