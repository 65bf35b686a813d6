import { Contribution, createMetric, type MetricKind } from './contribution.ts';
import type { Emitter } from './emitter.ts';
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

/** The bounds that the original's library uses where none are given. */
const BOUNDS = [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000];
const LOGGER = 'scraper.self';
/** Identity of its metrics in what an emitter keeps; no source has a name that is not one. */
const OWNER = '';
/** As long as nobody acknowledges them, the oldest go. */
const MAX_UNSENT = 100;

type Labels = Readonly<Record<string, string>>;

/**
 * Metrics and logs of the scraper itself, under the names of the original's code and those of its documentation, which
 * dashboards were made from (facts 9.1).
 */
export class SelfTelemetry {
  readonly #emitter: Emitter;
  readonly #now: () => Date;
  #current = new Contribution();
  #unsent: Contribution[] = [];

  constructor(emitter: Emitter, now: () => Date) {
    this.#emitter = emitter;
    this.#now = now;
  }

  ran({ source, status, apiType, durationSeconds, records }: Run): void {
    const labels = { source, status, api_type: apiType };
    for (const noun of ['run', 'scrape']) {
      this.#add('counter', noun === 'run' ? 'scraper_runs_total' : 'scraper_scrape_total', '1', labels, 1);
      this.#add('histogram', `scraper_${noun}_duration_seconds`, 's', labels, durationSeconds);
      this.#add('gauge', `scraper_last_${noun}_duration_seconds`, 's', labels, durationSeconds);
    }
    this.#add('counter', 'scraper_records_emitted_total', '1', labels, records);
    this.#add('gauge', 'scraper_last_records_emitted', '1', labels, records);
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
    this.#add('counter', 'scraper_dedupe_hits_total', '1', labels, hits);
    this.#add('counter', 'scraper_dedupe_misses_total', '1', labels, misses);
    this.#add('counter', 'scraper_dedupe_total', '1', labels, all);
    this.#add('gauge', 'scraper_dedupe_hit_rate', '1', labels, all === 0 ? 0 : hits / all);
  }

  cleanedUp({ job, backend, durationSeconds, items }: CleanUp): void {
    const labels = { job, backend };
    this.#add('histogram', 'scraper_cleanup_duration_seconds', 's', labels, durationSeconds);
    this.#add('gauge', 'scraper_cleanup_last_duration_seconds', 's', labels, durationSeconds);
    this.#add('counter', 'scraper_cleanup_items_total', '1', labels, items);
    this.#add('gauge', 'scraper_cleanup_last_items', '1', labels, items);
  }

  /**
   * A count under a name that the original does not have, such as of failed windows by kind.
   */
  count(name: string, labels: Labels, value = 1): void {
    this.#add('counter', name, '1', labels, value);
  }

  /** A present value, such as of windows that wait. */
  gauge(name: string, labels: Labels, value: number): void {
    this.#add('gauge', name, '1', labels, value);
  }

  /** Sends what has come together. What is not acknowledged goes with the next. */
  async flush(signal: AbortSignal): Promise<void> {
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

  #add(kind: MetricKind, name: string, unit: string, labels: Labels, value: number): void {
    const bounds = kind === 'histogram' ? BOUNDS : [];
    const metric = createMetric({ source: OWNER, name, unit, kind, bounds, maxSeries: 10_000 });
    const point = this.#current.table(metric).at(labels);
    if (kind === 'gauge') point.set(value);
    else if (kind === 'histogram') point.record(value);
    else point.add(value);
  }
}
