import type { MetricDefinition } from '../../lib/metrics/metric-definition.ts';

/** The bounds that the original's library uses where none are given. */
const BOUNDS = [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000];

const RUN = ['source', 'status', 'api_type'];
const DEDUPE = ['source', 'api_type'];
const CLEAN_UP = ['job', 'backend'];

const counter = (description: string, attributes: readonly string[], unit = '1') =>
  ({ instrument: 'counter', unit, description, attributes }) as const;
const gauge = (description: string, attributes: readonly string[], unit = '1') =>
  ({ instrument: 'gauge', unit, description, attributes }) as const;
const histogram = (description: string, attributes: readonly string[]) =>
  ({ instrument: 'histogram', unit: 's', description, attributes, bounds: BOUNDS }) as const;

/**
 * Every metric of the scraper about itself, by name. What the original's code and its documentation call differently has
 * both names, because dashboards were made from either.
 */
export const SCRAPER_METRICS = {
  scraper_runs_total: counter('Runs of sources by status and kind of API.', RUN),
  scraper_scrape_total: counter('The same as scraper_runs_total.', RUN),
  scraper_run_duration_seconds: histogram('How long runs took.', RUN),
  scraper_scrape_duration_seconds: histogram('The same as scraper_run_duration_seconds.', RUN),
  scraper_last_run_duration_seconds: gauge('How long the last run took.', RUN, 's'),
  scraper_last_scrape_duration_seconds: gauge('The same as scraper_last_run_duration_seconds.', RUN, 's'),
  scraper_records_emitted_total: counter('Records that the collector has acknowledged.', RUN),
  scraper_last_records_emitted: gauge('Records of the last run that the collector has acknowledged.', RUN),
  scraper_dedupe_hits_total: counter('Records left out because they had been emitted before.', DEDUPE),
  scraper_dedupe_misses_total: counter('Records that had not been emitted before.', DEDUPE),
  scraper_dedupe_total: counter('Records that were looked up.', DEDUPE),
  scraper_dedupe_hit_rate: gauge('Share of the last run’s records that had been emitted before.', DEDUPE),
  scraper_cleanup_duration_seconds: histogram('How long clean-ups of fingerprints took.', CLEAN_UP),
  scraper_cleanup_last_duration_seconds: gauge('How long the last clean-up took.', CLEAN_UP, 's'),
  scraper_cleanup_items_total: counter('Fingerprints that clean-ups have removed.', CLEAN_UP),
  scraper_cleanup_last_items: gauge('Fingerprints that the last clean-up has removed.', CLEAN_UP),
  scraper_windows_failed_total: counter('Attempts at windows that failed, by what failed.', ['source', 'kind']),
  scraper_windows_dead_total: counter('Windows that were set aside after their last attempt.', ['source', 'kind']),
  scraper_export_failures_total: counter('Exports that the collector did not take.', ['source', 'kind']),
  scraper_windows_repeated_total: counter('Windows that may have been sent twice.', ['source']),
  scraper_records_maybe_repeated_total: counter('Records of windows that may have been sent twice.', ['source']),
  scraper_records_left_out_total: counter('Records beyond the limit of a scrape.', ['source']),
  scraper_catch_up_skipped_seconds_total: counter('Time of outages that is too long ago to catch up.', ['source'], 's'),
  scraper_runs_skipped_total: counter('Runs that were due while the one before them went on.', ['source']),
  scraper_state_failures_total: counter('Failures of the state store.', []),
  scraper_windows_open: gauge('Windows that wait or are tried again.', ['source']),
  scraper_windows_dead: gauge('Windows that are set aside.', ['source']),
} as const satisfies Readonly<Record<string, ScraperMetricDefinition>>;

export interface ScraperMetricDefinition extends Omit<MetricDefinition, 'name'> {
  readonly instrument: 'counter' | 'gauge' | 'histogram';
}

export type ScraperMetric = keyof typeof SCRAPER_METRICS;
/** Names of the metrics of one kind. */
export type ScraperMetricOf<Instrument extends ScraperMetricDefinition['instrument']> = {
  [Name in ScraperMetric]: (typeof SCRAPER_METRICS)[Name]['instrument'] extends Instrument ? Name : never;
}[ScraperMetric];
