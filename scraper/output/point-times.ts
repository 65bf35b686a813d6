import type { Metric, TimeSpan } from './contribution.ts';
import type { PendingPoint } from './cumulative-state.ts';

/** A point and when it is. */
export type TimedPoint = PendingPoint & { readonly time: TimeSpan };

/** What the collector was told of one sum. */
interface Told {
  readonly start: bigint;
  end: bigint;
}

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
  /** By source, metric and key; only of sums since a start whose windows have a time of their own. */
  readonly #told = new Map<string, Map<string, Map<string, Told>>>();
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

  /** Of what is sent now. What it tells of a sum counts as told, because it may arrive. */
  of(point: PendingPoint, now: bigint): TimeSpan {
    const { metric, total, added, window } = point;
    if (metric.kind === 'gauge') {
      const own = total.at ?? window?.end;
      return own === undefined ? { start: this.#startOf(metric), end: now } : { start: own, end: own };
    }
    if (this.#isDelta(metric.kind)) {
      if (window === undefined) return { start: this.#lastExport, end: now };
      return added.at === undefined ? window : { start: window.start, end: endOf(window, added.at) };
    }
    const told = this.#toldOf(point);
    if (window === undefined && told === undefined) return { start: this.#startOf(metric), end: now };
    const start = told?.start ?? this.#firstStart(metric, window as TimeSpan);
    const own = window === undefined ? now : endOf(window, added.at);
    const end = later(own, (told?.end ?? start) + STEP);
    if (window !== undefined) this.#busy.add(metric.source);
    return this.#tell(point, { start, end });
  }

  /**
   * Of sums that are sent again, because they still hold: until now. While windows of a source come they hold as long as
   * the latest of these says, so that windows of the past which are still to come do not all end up at now.
   */
  again(points: readonly PendingPoint[], now: bigint): TimedPoint[] {
    const timed = points.map((point) => {
      const { metric } = point;
      const told = this.#toldOf(point);
      if (told === undefined) return { ...point, time: { start: this.#startOf(metric), end: now } };
      const until = this.#busy.has(metric.source) ? (this.#reached.get(metric.source) ?? now) : now;
      return { ...point, time: this.#tell(point, { start: told.start, end: later(told.end, until) }) };
    });
    this.#busy.clear();
    return timed;
  }

  /** Everything up to now has been sent. */
  sent(now: bigint): void {
    this.#lastExport = now;
  }

  /** The sums of a source begin anew, after all that was told of them. */
  restart(source: string, now: bigint): void {
    this.#restarts.set(source, this.#reached.get(source) ?? now);
    this.#told.delete(source);
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

  #toldOf({ metric, total }: PendingPoint): Told | undefined {
    return this.#told.get(metric.source)?.get(metric.id)?.get(total.key);
  }

  #tell(point: PendingPoint, time: TimeSpan): TimeSpan {
    const { source, id } = point.metric;
    const told = this.#toldOf(point);
    if (told === undefined) {
      const metrics = emplaced(this.#told, source, () => new Map<string, Map<string, Told>>());
      emplaced(metrics, id, () => new Map<string, Told>()).set(point.total.key, { ...time });
    } else told.end = time.end;
    this.#reached.set(source, later(this.#reached.get(source) ?? 0n, time.end));
    return time;
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
