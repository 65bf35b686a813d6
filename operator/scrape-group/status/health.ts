import { valueAt } from '../../../lib/json/tree.ts';
import type { HealthSource } from '../../health/pod-client.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { CONTAINER, PORT_NAME } from '../group/defaults.ts';

/** What one pod says about itself in `/healthz`. */
export interface ScraperHealth {
  readonly pod: string;
  /** Hash of the file that it runs with. */
  readonly configHash: string | undefined;
  /** Whether an object that the pod refers to has changed since it started. */
  readonly referencesChanged: boolean;
  readonly sources: readonly SourceHealth[];
}

/** Times in ISO 8601, in whole seconds; what has not happened yet is undefined. */
export interface SourceHealth {
  readonly name: string;
  readonly lastScrape: string | undefined;
  readonly lastSuccess: string | undefined;
  readonly watermark: string | undefined;
  readonly records: number | undefined;
  /** Of the last scrape; undefined when it succeeded. */
  readonly lastError: string | undefined;
  /** Windows that were set aside after too many attempts. */
  readonly deadWindows: number | undefined;
}

/** How scrapers are asked. */
export const SCRAPER_HEALTH: HealthSource<ScraperHealth> = {
  container: CONTAINER,
  port: PORT_NAME,
  maxPods: 20,
  /** A shard has up to about 1,500 sources. */
  maxBytes: 4 * 1024 * 1024,
  parse: parseHealth,
  // Times and counts move with every scrape, and are looked at with the next look.
  news: ({ configHash, referencesChanged, sources }) => [
    configHash,
    referencesChanged,
    sources.map(({ name, lastScrape, lastError, deadWindows }) => [
      name,
      lastScrape !== undefined,
      lastError !== undefined,
      (deadWindows ?? 0) > 0,
    ]),
  ],
};

/** Undefined when this is no health object of a scraper. Members of other versions are ignored. */
export function parseHealth(pod: string, body: unknown): ScraperHealth | undefined {
  if (!isObject(body) || !Array.isArray(body['sources'])) return undefined;
  return {
    pod,
    configHash: textAt(body, 'config_hash'),
    referencesChanged: valueAt(body, ['references', 'changed']) === true,
    sources: body['sources'].flatMap((source: unknown) => {
      const name = textAt(source, 'name');
      if (name === undefined) return [];
      return [
        {
          name,
          lastScrape: timeAt(source, 'last_scrape'),
          lastSuccess: timeAt(source, 'last_success'),
          watermark: timeAt(source, 'watermark'),
          records: numberAt(source, 'records'),
          lastError: textAt(source, 'last_error'),
          deadWindows: numberAt(source, 'dead_windows'),
        },
      ];
    }),
  };
}

function timeAt(value: unknown, key: string): string | undefined {
  const time = new Date(textAt(value, key) ?? '');
  return Number.isNaN(time.getTime()) ? undefined : `${time.toISOString().slice(0, 19)}Z`;
}

/** Pods of a group share its sources; of each source the one counts that scraped it last. */
export function sourcesOf(health: readonly ScraperHealth[]): ReadonlyMap<string, SourceHealth> {
  const sources = new Map<string, SourceHealth>();
  for (const source of health.flatMap((one) => one.sources)) {
    const known = sources.get(source.name);
    if (known === undefined || (source.lastScrape ?? '') > (known.lastScrape ?? '')) sources.set(source.name, source);
  }
  return sources;
}
