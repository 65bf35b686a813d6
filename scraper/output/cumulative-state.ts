import { type Contribution, type Metric, OVERFLOW_KEY, PointTable, type TimeSpan } from './contribution.ts';
import { Point } from './point.ts';
import { seriesBytes, SeriesBytes } from './series-bytes.ts';

/** A point as it would be sent. */
export interface PendingPoint {
  readonly metric: Metric;
  /** Of gauges what was read; otherwise everything since the start. */
  readonly total: Point;
  /** What the contributions alone add to it. */
  readonly added: Point;
  /** When it is; undefined: when it is exported. */
  readonly window?: TimeSpan | undefined;
}

/** The newest points of one metric, and all of them in the order in which they are to be sent. */
interface Changed {
  readonly newest: Map<string, PendingPoint>;
  readonly all: PendingPoint[];
}

/**
 * What the collector has acknowledged so far, per metric and set of attributes. Gauges are not kept: their points are
 * sent once, as the original does.
 */
export class CumulativeState {
  readonly #tables = new Map<string, PointTable>();
  readonly #series: SeriesBytes;

  /** @param maxBytes what the sets of attributes of all sources may hold together */
  constructor(maxBytes?: number) {
    this.#series = new SeriesBytes(maxBytes);
  }

  /**
   * The points that these contributions change, as they are with them: one of each for every window that has a time of its
   * own, oldest first. Changes nothing.
   */
  preview(contributions: readonly Contribution[]): PendingPoint[] {
    const pending = new Map<string, Changed>();
    const coming = new SeriesBytes();
    for (const { tables, window } of contributions.toSorted(byTime)) {
      for (const [id, table] of tables) {
        const changed = pending.get(id) ?? { newest: new Map<string, PendingPoint>(), all: [] };
        pending.set(id, changed);
        this.#add(table, window, changed, coming);
      }
    }
    return [...pending.values()].flatMap(({ all }) => all);
  }

  /** Takes in what has been acknowledged. */
  take(contributions: readonly Contribution[]): void {
    for (const { metric, total } of this.preview(contributions)) {
      if (metric.kind !== 'gauge') this.#table(metric).put(total);
    }
  }

  /** Every sum and histogram, for an export that adds nothing. */
  all(): PendingPoint[] {
    return [...this.#tables.values()].flatMap((table) =>
      table.all().map((total) => ({ metric: table.metric, total, added: total })),
    );
  }

  forget(source: string): void {
    for (const [id, { metric }] of this.#tables) {
      if (metric.source === source) this.#tables.delete(id);
    }
    this.#series.forget(source);
  }

  /** Gauges are not kept; each contribution bounds its own. */
  #hasRoom(metric: Metric, key: string, coming: SeriesBytes): boolean {
    if (metric.kind === 'gauge') return true;
    const bytes = seriesBytes(key, metric.bounds.length);
    if (!this.#series.fits(metric, bytes, coming)) return false;
    coming.add(metric.source, bytes);
    return true;
  }

  #table(metric: Metric): PointTable {
    const known = this.#tables.get(metric.id);
    if (known !== undefined) return known;
    const table = new PointTable(metric, this.#series);
    this.#tables.set(metric.id, table);
    return table;
  }

  #add(table: PointTable, window: TimeSpan | undefined, { newest, all }: Changed, coming: SeriesBytes): void {
    const { metric } = table;
    const kept = this.#tables.get(metric.id);
    let size = (kept?.points.size ?? 0) + [...newest.keys()].filter((key) => !isKept(kept, key)).length;
    for (const read of table.all()) {
      const isNew = !isKept(kept, read.key) && !newest.has(read.key);
      // The limits hold for all that has been sent, not only for one contribution.
      const fits = !isNew || (size < metric.maxSeries && this.#hasRoom(metric, read.key, coming));
      if (isNew && fits) size += 1;
      const { key, attributes } = fits ? read : table.overflow();
      let point = newest.get(key);
      if (point === undefined || point.window !== window) {
        point = begin(metric, point?.total ?? keptPoint(kept, key), key, attributes, window);
        newest.set(key, point);
        all.push(point);
      }
      const { total, added } = point;
      const grown = total.value;
      merge(metric, total, read, key);
      const sum = added.value + total.value - grown;
      if (metric.kind === 'gauge') added.set(read.value, read.at);
      else added.plus(read);
      // Of running totals also what they grew by since the last window.
      if (metric.kind === 'runningTotal') added.value = sum;
    }
  }
}

const isKept = (table: PointTable | undefined, key: string): boolean =>
  key === OVERFLOW_KEY || table?.points.has(key) === true;

const keptPoint = (kept: PointTable | undefined, key: string): Point | undefined =>
  key === OVERFLOW_KEY ? kept?.overflow() : kept?.points.get(key);

const byTime = (one: Contribution, other: Contribution): number => {
  const [a, b] = [one.window?.end ?? 0n, other.window?.end ?? 0n];
  return a < b ? -1 : Number(a > b);
};

function begin(
  metric: Metric,
  before: Point | undefined,
  key: string,
  attributes: Point['attributes'],
  window: TimeSpan | undefined,
): PendingPoint {
  const fresh = (): Point =>
    key === OVERFLOW_KEY ? new PointTable(metric).overflow() : new Point(key, attributes, metric.bounds);
  const goesOn = metric.kind !== 'gauge' && before !== undefined;
  return { metric, total: goesOn ? before.copy() : fresh(), added: fresh(), window };
}

function merge({ kind }: Metric, total: Point, read: Point, key: string): void {
  if (kind === 'gauge') total.set(read.value, read.at);
  else if (kind !== 'runningTotal') total.plus(read);
  // Totals of different series cannot be told from falls: the point stays at 0 and shows that there are more.
  else if (key !== OVERFLOW_KEY) total.plusTotals(read);
}
