import type { AnyValue, Attributes, SeverityNumber } from '@opentelemetry/api';
import { Point } from './point.ts';
import { seriesBytes, SeriesBytes } from './series-bytes.ts';

export type MetricKind = 'gauge' | 'counter' | 'runningTotal' | 'histogram';

/** One metric of one source. Two of the same content are the same metric. */
export interface Metric {
  /** Tells metrics apart: all of the below in one text. */
  readonly id: string;
  readonly source: string;
  readonly name: string;
  readonly unit: string;
  readonly kind: MetricKind;
  /** Upper bounds of a histogram's buckets, ascending. */
  readonly bounds: readonly number[];
  /** Most sets of attributes; what comes later is added up in one point more. */
  readonly maxSeries: number;
  /** What the sets of all metrics of the source may hold in memory. */
  readonly maxSeriesBytes: number;
}

export function createMetric(parts: Omit<Metric, 'id'>): Metric {
  const { source, name, unit, kind, bounds } = parts;
  return { ...parts, id: JSON.stringify([source, name, unit, kind, bounds]) };
}

/** In nanoseconds since 1970. */
export interface TimeSpan {
  readonly start: bigint;
  readonly end: bigint;
}

/** A log record that waits for its export. */
export interface LogEntry {
  /** Name of the scope. */
  readonly logger: string;
  /** Nanoseconds since 1970. */
  readonly time: bigint;
  readonly observed: bigint;
  readonly severity: Severity;
  readonly body: AnyValue;
  readonly attributes: Attributes;
}

export interface Severity {
  readonly number: SeverityNumber;
  readonly text: string;
}

/** The points of one metric, one per set of attributes. */
export class PointTable {
  readonly metric: Metric;
  readonly points = new Map<string, Point>();
  readonly #series: SeriesBytes;
  #overflow: Point | undefined;

  /** @param series counts the sets of this metric and of others */
  constructor(metric: Metric, series = new SeriesBytes()) {
    this.metric = metric;
    this.#series = series;
  }

  /** The point of these attributes; beyond `maxSeries` or `maxSeriesBytes` the one that takes up the rest. */
  at(attributes: Attributes, key = keyOf(attributes)): Point {
    const known = this.points.get(key);
    if (known !== undefined) return known;
    const isFull = this.points.size >= this.metric.maxSeries;
    if (isFull || !this.#series.fits(this.metric, seriesBytes(key, this.metric.bounds.length))) return this.overflow();
    const point = new Point(key, attributes, this.metric.bounds);
    this.put(point);
    return point;
  }

  /** Puts a point in the place of the one with its key. */
  put(point: Point): void {
    const { key } = point;
    if (key === OVERFLOW_KEY) {
      this.#overflow = point;
      return;
    }
    if (!this.points.has(key)) this.#series.add(this.metric.source, seriesBytes(key, this.metric.bounds.length));
    this.points.set(key, point);
  }

  overflow(): Point {
    this.#overflow ??= new Point(OVERFLOW_KEY, overflowAttributes(this.metric.source), this.metric.bounds);
    return this.#overflow;
  }

  all(): Point[] {
    return this.#overflow === undefined ? [...this.points.values()] : [...this.points.values(), this.#overflow];
  }
}

/** Of no attributes: they are lists of names and values. */
export const OVERFLOW_KEY = 'overflow';

/** As the specification names it, beside the source, so that points of two sources stay two. */
const overflowAttributes = (source: string): Attributes => ({ source, 'otel.metric.overflow': true });

/** Tells sets of attributes apart. */
export const keyOf = (attributes: Attributes): string => JSON.stringify(Object.entries(attributes));

/**
 * What one window adds: sums, counts, last values and log records. It changes nothing by itself; an emitter takes it into
 * what it has sent so far once the collector has acknowledged it.
 */
export class Contribution {
  /** When its points are; undefined: when they are exported. */
  readonly window: TimeSpan | undefined;
  readonly tables = new Map<string, PointTable>();
  /** What its sets of attributes hold. */
  readonly series = new SeriesBytes();
  readonly logs: LogEntry[] = [];
  /** Its metrics are part of what has been sent; what is missing is the acknowledgement of log records. */
  isCounted = false;
  /** How many of the log records have been acknowledged: when the rest fails, emitting it again starts behind them. */
  acknowledgedLogs = 0;

  constructor(window?: TimeSpan) {
    this.window = window;
  }

  table(metric: Metric): PointTable {
    let table = this.tables.get(metric.id);
    if (table === undefined) {
      table = new PointTable(metric, this.series);
      this.tables.set(metric.id, table);
    }
    return table;
  }

  /** Whose metrics it has. */
  get sources(): ReadonlySet<string> {
    return new Set([...this.tables.values()].map(({ metric }) => metric.source));
  }

  get isEmpty(): boolean {
    return this.tables.size === 0 && this.logs.length === 0;
  }
}
