import type { ScraperSettings, Source } from '../../crds/config/scraper-file/scraper.ts';
import type { AddReadings } from '../output/add-readings.ts';
import { compileReadings } from '../output/compile-readings.ts';
import { compileDataKey, type RecordsOf } from '../records/data-key.ts';
import { needsExactNumbers } from '../records/exact-numbers-needed.ts';
import { compileFilters, type RecordFilter } from '../records/filters.ts';
import { compileFingerprint, type Fingerprint } from '../records/fingerprint.ts';
import { InvalidSetting } from '../records/invalid-setting.ts';
import { parseJson } from '../records/json-body.ts';
import { type Authenticator, createAuthenticator } from '../requests/auth.ts';
import type { HttpClient } from '../requests/http-client.ts';
import { sourceUrl } from '../requests/parameters.ts';
import type { TokenCache } from '../requests/token-cache.ts';
import { firstStart, timeMode, timePattern, windowSize } from '../requests/windows.ts';

/** A source with everything made once that its windows need. */
export interface PreparedSource {
  readonly source: Source;
  /** With its port. */
  readonly host: string;
  readonly isRange: boolean;
  /** @throws SyntaxError without any of the text in its message */
  readonly parse: (text: string) => unknown;
  readonly records: RecordsOf;
  readonly filter: RecordFilter;
  /** Undefined: there is no delta detection. */
  readonly fingerprint: Fingerprint | undefined;
  /** How long fingerprints count, in milliseconds, and how many are kept. */
  readonly fingerprintTtlMs: number;
  readonly maxFingerprints: number;
  readonly addReadings: AddReadings;
  readonly auth: Authenticator;
  /** Most windows that are fetched at a time, and that are begun and not committed. */
  readonly maxFetching: number;
  readonly maxBegun: number;
  /** Milliseconds; null: a range stays whole. */
  readonly windowSize: number | null;
  /** Whether its requests say which time they want. */
  readonly hasTimes: boolean;
  /** Where a first scrape starts that ends at `to`. @param periodMs time between two scrapes */
  firstStart(to: Date, periodMs: number): Date;
}

export interface SourceContext {
  readonly settings: Pick<ScraperSettings, 'defaultTimeFormat' | 'defaultSourceConcurrency' | 'fingerprintStore'>;
  /** For tokens, which do not count among the requests to sources. */
  readonly http: HttpClient;
  readonly tokens: TokenCache;
  readonly now: () => Date;
  /** Told of what is left out. */
  readonly warn: (message: string) => void;
}

/** @throws InvalidSetting when nothing can be made of a setting that the schema has let pass */
export function prepareSource(source: Source, { settings, http, tokens, now, warn }: SourceContext): PreparedSource {
  const { scrape, deltaDetection } = source;
  const { fingerprintStore: store } = settings;
  const exact = needsExactNumbers(source) || scrape.pagination?.type === 'cursor';
  const maxFetching = scrape.maxConcurrency ?? settings.defaultSourceConcurrency;
  const isRange = scrape.type === 'range';
  const host = hostOf(source);
  const pattern = timePattern(scrape, settings.defaultTimeFormat);
  const first = (to: Date, periodMs: number): Date =>
    firstStart(scrape.rangeKeys?.firstScrapeStart, pattern, to, periodMs);
  // Also where nothing is scraped first: what can never work is told before it is needed.
  if (scrape.rangeKeys?.firstScrapeStart) checkFirstStart(() => first(now(), 0));
  return {
    source,
    host,
    isRange,
    parse: (text) => parseJson(text, { exact }),
    records: compileDataKey(source.dataKey, source.dataKeyRequired),
    filter: compileFilters(source.filters),
    fingerprint: deltaDetection.enabled ? compileFingerprint(source.name, deltaDetection) : undefined,
    fingerprintTtlMs: (deltaDetection.ttlSeconds ?? store.defaultTtlSeconds) * 1000,
    maxFingerprints: deltaDetection.maxEntries ?? store.maxEntriesPerSource,
    addReadings: compileReadings(source, warn),
    auth: createAuthenticator(source.auth, { http, tls: source.tls, sourceHost: host, now, tokens }),
    maxFetching,
    maxBegun: scrape.maxConcurrentWindows ?? maxFetching,
    windowSize: windowSize(scrape),
    hasTimes: timeMode(scrape) === 'explicit',
    firstStart: first,
  };
}

function hostOf(source: Source): string {
  try {
    return new URL(sourceUrl(source)).host;
  } catch {
    throw new InvalidSetting('endpoint', 'makes no URL together with baseUrl');
  }
}

function checkFirstStart(read: () => Date): void {
  try {
    read();
  } catch (error) {
    throw new InvalidSetting(
      'scrape.rangeKeys.firstScrapeStart',
      error instanceof Error ? error.message : String(error),
    );
  }
}
