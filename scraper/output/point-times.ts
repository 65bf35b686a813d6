import type { Metric, TimeSpan } from './contribution.ts';
import type { PendingPoint } from './cumulative-state.ts';

/** A point and when it is. */
export type TimedPoint = PendingPoint & { readonly time: TimeSpan };

/** Times of two points of one sum differ at least by that much; Prometheus counts in milliseconds. */
const STEP = 1_000_000n;

/**
 * When points are, in nanoseconds since 1970. Those of a window with a time of its own are in this window: what is added
 * from its start to its end. Sums since a start keep this start, and never go back in time: what arrives late is as early
 * as it can be, which is just after the last point of its sum.
 */
export class PointTimes {
  readonly #begun: bigint;
  readonly #isDelta: (kind: Metric['kind']) => boolean;
  readonly #restarts = new Map<string, bigint>();
  /** What the collector was told, by source, metric and key; only of sums since a start whose windows have a time of their own. */
  readonly #exported = new Map<string, Map<string, Map<string, TimeSpan>>>();
  /** The latest that was told of a source. */
  readonly #reached = new Map<string, bigint>();
  /** Sources with windows since the last refresh. */
  readonly #busy = new Set<string>();
  #lastExport: bigint;

  constructor(now: bigint, isDelta: (kind: Metric['kind']) => boolean) {
    this.#begun = now;
    this.#lastExport = now;
    this.#isDelta = isDelta;
  }

  /** Of what is to be sent now, oldest first. Some sums go without a point: a later one stands for it. */
  of(points: readonly PendingPoint[], now: bigint): TimedPoint[] {
    const last = new Map<string, TimeSpan>();
    return this.#withoutCovered(points, now).map((point) => {
      if (!this.#isSum(point)) return { ...point, time: this.#ownTime(point, now) };
      const series = seriesOf(point);
      const time = this.#next(point, last.get(series) ?? this.#exportedOf(point), now);
      last.set(series, time);
      return { ...point, time };
    });
  }

  /**
   * Of sums that are sent again, because they still hold: until now. While windows of a source come they hold as long as
   * the latest of these says, so that windows of the past which are still to come do not all end up at now.
   */
  timed(points: readonly PendingPoint[], now: bigint): TimedPoint[] {
    const timed = points.map((point) => {
      const { metric } = point;
      const exported = this.#exportedOf(point);
      if (exported === undefined) return { ...point, time: { start: this.#startOf(metric), end: now } };
      const until = this.#busy.has(metric.source) ? (this.#reached.get(metric.source) ?? now) : now;
      return { ...point, time: { start: exported.start, end: later(exported.end, until) } };
    });
    this.#busy.clear();
    return timed;
  }

  /** These have been sent, or may have been. */
  exported(points: readonly TimedPoint[]): void {
    for (const point of points) {
      const { metric, total, window, time } = point;
      if (!this.#isSum(point) || (window === undefined && this.#exportedOf(point) === undefined)) continue;
      if (window !== undefined) this.#busy.add(metric.source);
      const metrics = emplaced(this.#exported, metric.source, () => new Map<string, Map<string, TimeSpan>>());
      emplaced(metrics, metric.id, () => new Map<string, TimeSpan>()).set(total.key, time);
      this.#reached.set(metric.source, later(this.#reached.get(metric.source) ?? 0n, time.end));
    }
  }

  /** Everything up to now has been sent. */
  sent(now: bigint): void {
    this.#lastExport = now;
  }

  /** The sums of a source begin anew, after all that was told of them. */
  restart(source: string, now: bigint): void {
    this.#restarts.set(source, this.#reached.get(source) ?? now);
    this.#exported.delete(source);
  }

  /**
   * Of the late points of a sum only the last. A retry would put the sums of its first windows behind the sum of all that
   * may have arrived, and whoever stores them would take that for a restart.
   */
  #withoutCovered(points: readonly PendingPoint[], now: bigint): PendingPoint[] {
    const covered = new Set<string>();
    const goes = (point: PendingPoint): boolean => {
      const exported = this.#isSum(point) ? this.#exportedOf(point) : undefined;
      if (exported === undefined || ownEnd(point, now) > exported.end) return true;
      const series = seriesOf(point);
      const isLast = !covered.has(series);
      covered.add(series);
      return isLast;
    };
    return points.toReversed().filter(goes).toReversed();
  }

  /** Of gauges, and of what is only added. */
  #ownTime({ metric, total, added, window }: PendingPoint, now: bigint): TimeSpan {
    if (metric.kind === 'gauge') {
      const own = total.at ?? window?.end;
      return own === undefined ? { start: this.#startOf(metric), end: now } : { start: own, end: own };
    }
    if (window === undefined) return { start: this.#lastExport, end: now };
    return added.at === undefined ? window : { start: window.start, end: endOf(window, added.at) };
  }

  /** Of a sum since a start, behind what was told of it. */
  #next(point: PendingPoint, exported: TimeSpan | undefined, now: bigint): TimeSpan {
    const { metric, window } = point;
    if (window === undefined && exported === undefined) return { start: this.#startOf(metric), end: now };
    const start = exported?.start ?? this.#firstStart(metric, window as TimeSpan);
    return { start, end: later(ownEnd(point, now), (exported?.end ?? start) + STEP) };
  }

  #isSum({ metric: { kind } }: PendingPoint): boolean {
    return kind !== 'gauge' && !this.#isDelta(kind);
  }

  #startOf({ source }: Metric): bigint {
    return this.#restarts.get(source) ?? this.#begun;
  }

  /** Windows before the start of the program start their sums themselves. */
  #firstStart({ source }: Metric, { start, end }: TimeSpan): bigint {
    const restart = this.#restarts.get(source);
    if (restart === undefined && end <= this.#begun) return start;
    return later(restart ?? this.#begun, start);
  }

  #exportedOf({ metric, total }: PendingPoint): TimeSpan | undefined {
    return this.#exported.get(metric.source)?.get(metric.id)?.get(total.key);
  }
}

function emplaced<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key) ?? make();
  map.set(key, known);
  return known;
}

const later = (one: bigint, other: bigint): bigint => (one > other ? one : other);

/** Records may say times outside of the window that they came with. */
const endOf = ({ start, end }: TimeSpan, at: bigint | undefined): bigint =>
  at !== undefined && at > start && at <= end ? at : end;

const ownEnd = ({ window, added }: PendingPoint, now: bigint): bigint =>
  window === undefined ? now : endOf(window, added.at);

const seriesOf = ({ metric, total }: PendingPoint): string => `${metric.id} ${total.key}`;
