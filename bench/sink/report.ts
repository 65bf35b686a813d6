import type { MetricSum } from './otlp.ts';

/** What has happened at both ends of a scraper since the last reset. Times are Unix milliseconds, with fractions. */
export interface SinkReport {
  readonly now: number;
  /** Requests that have come, and those that were answered. */
  readonly requests: number;
  readonly answered: number;
  readonly mostAtOnce: number;
  /** How many different windows were asked for. */
  readonly windows: number;
  readonly records: number;
  readonly firstRequest: number | undefined;
  readonly lastAnswer: number | undefined;
  readonly exports: number;
  readonly exportBytes: number;
  readonly lastExport: number | undefined;
}

/** What the exports hold; reading them takes the sink's time, so it is done only when it is asked for. */
export interface SinkCount {
  readonly logs: number;
  readonly spans: number;
  /** Of the latest export of each metric, by name. */
  readonly metrics: Readonly<Record<string, MetricSum>>;
}

/** When each source of the fleet was asked for, by its name. */
export type SinkCalls = Readonly<Record<string, readonly number[]>>;
