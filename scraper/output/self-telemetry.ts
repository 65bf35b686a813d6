import type { MetricDefinition } from '../../lib/metrics/metric-definition.ts';
import type { ObservationTarget } from '../../lib/metrics/node-metrics.ts';
import { Contribution, createMetric, keyOf } from './contribution.ts';
import type { Emitter } from './emitter.ts';
import { SCRAPER_METRICS, type ScraperMetric, type ScraperMetricOf } from './metric-catalog.ts';
import { ERROR, INFO } from './severity.ts';

export interface Run {
  readonly source: string;
  readonly status: 'success' | 'error';
  readonly apiType: 'instant' | 'range';
  readonly durationSeconds: number;
  /** Records that the collector has acknowledged. */
  readonly records: number;
}

export interface Dedupe {
  readonly source: string;
  readonly apiType: 'instant' | 'range';
  /** Records that had been emitted before, and those that had not. */
  readonly hits: number;
  readonly misses: number;
}

export interface CleanUp {
  readonly job: 'fingerprint_cleanup' | 'orphan_cleanup';
  readonly backend: 'sqlite' | 'valkey';
  readonly durationSeconds: number;
  readonly items: number;
}

const LOGGER = 'scraper.self';
/** Identity of its metrics in what an emitter keeps; no source has a name that is not one. */
const OWNER = '';
const LIMITS = { maxSeries: 10_000, maxSeriesBytes: 16 * 2 ** 20 };
/** As long as nobody acknowledges them, the oldest go. */
const MAX_UNSENT = 100;

type Labels = Readonly<Record<string, string>>;
type Named = Pick<MetricDefinition, 'name' | 'instrument' | 'unit' | 'bounds'>;

/**
 * Metrics and logs of the scraper itself, under the names of the original's code and those of its documentation, which
 * dashboards were made from.
 */
export class SelfTelemetry implements ObservationTarget {
  readonly #emitter: Emitter;
  readonly #now: () => Date;
  readonly #observed: (() => void)[] = [];
  #current = new Contribution();
  #unsent: Contribution[] = [];

  constructor(emitter: Emitter, now: () => Date) {
    this.#emitter = emitter;
    this.#now = now;
  }

  ran({ source, status, apiType, durationSeconds, records }: Run): void {
    const labels = { source, status, api_type: apiType };
    this.#add('scraper_runs_total', labels, 1);
    this.#add('scraper_scrape_total', labels, 1);
    this.#add('scraper_run_duration_seconds', labels, durationSeconds);
    this.#add('scraper_scrape_duration_seconds', labels, durationSeconds);
    this.#add('scraper_last_run_duration_seconds', labels, durationSeconds);
    this.#add('scraper_last_scrape_duration_seconds', labels, durationSeconds);
    this.#add('scraper_records_emitted_total', labels, records);
    this.#add('scraper_last_records_emitted', labels, records);
    const observed = BigInt(this.#now().getTime()) * 1_000_000n;
    this.#current.logs.push({
      logger: LOGGER,
      time: observed,
      observed,
      severity: status === 'error' ? ERROR : INFO,
      body: { source, status, duration_seconds: durationSeconds, record_count: records },
      attributes: { component: 'scraper' },
    });
  }

  deduped({ source, apiType, hits, misses }: Dedupe): void {
    const labels = { source, api_type: apiType };
    const all = hits + misses;
    this.#add('scraper_dedupe_hits_total', labels, hits);
    this.#add('scraper_dedupe_misses_total', labels, misses);
    this.#add('scraper_dedupe_total', labels, all);
    this.#add('scraper_dedupe_hit_rate', labels, all === 0 ? 0 : hits / all);
  }

  cleanedUp({ job, backend, durationSeconds, items }: CleanUp): void {
    const labels = { job, backend };
    this.#add('scraper_cleanup_duration_seconds', labels, durationSeconds);
    this.#add('scraper_cleanup_last_duration_seconds', labels, durationSeconds);
    this.#add('scraper_cleanup_items_total', labels, items);
    this.#add('scraper_cleanup_last_items', labels, items);
  }

  /** A count that the original does not have, such as of failed windows by kind. */
  count(name: ScraperMetricOf<'counter'>, labels: Labels, value = 1): void {
    this.#add(name, labels, value);
  }

  /** A present value, such as of windows that wait. */
  gauge(name: ScraperMetricOf<'gauge'>, labels: Labels, value: number): void {
    this.#add(name, labels, value);
  }

  /** Has a metric read before each `flush`. Up-down counters arrive as gauges, which they are for whoever reads them. */
  observe(metric: MetricDefinition, read: Parameters<ObservationTarget['observe']>[1]): void {
    const totals = new Map<string, number>();
    this.#observed.push(() => {
      for (const [value, labels] of read()) {
        const key = keyOf(labels);
        this.#put(metric, labels, metric.instrument === 'counter' ? value - (totals.get(key) ?? 0) : value);
        totals.set(key, value);
      }
    });
  }

  /** Sends what has come together. What is not acknowledged goes with the next. */
  async flush(signal: AbortSignal): Promise<void> {
    for (const read of this.#observed) read();
    const sending = [...this.#unsent, this.#current].filter(({ isEmpty }) => !isEmpty);
    this.#current = new Contribution();
    this.#unsent = [];
    try {
      await this.#emitter.emit(sending, signal);
    } catch (error) {
      const unsent = [...sending, ...this.#unsent];
      this.#unsent = unsent.slice(-MAX_UNSENT);
      for (const contribution of unsent.slice(0, -MAX_UNSENT)) this.#emitter.giveUp(contribution);
      throw error;
    }
  }

  #add(name: ScraperMetric, labels: Labels, value: number): void {
    this.#put({ name, ...SCRAPER_METRICS[name] }, labels, value);
  }

  #put({ name, instrument, unit, bounds = [] }: Named, labels: Labels, value: number): void {
    const kind = instrument === 'upDownCounter' ? 'gauge' : instrument;
    const metric = createMetric({ source: OWNER, name, unit, kind, bounds, ...LIMITS });
    const point = this.#current.table(metric).at(labels);
    if (kind === 'gauge') point.set(value);
    else if (kind === 'histogram') point.record(value);
    else point.add(value);
  }
}
