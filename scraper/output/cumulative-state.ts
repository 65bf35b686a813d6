import { type Contribution, type Metric, OVERFLOW_KEY, PointTable } from './contribution.ts';
import { Point } from './point.ts';

/** A point as it would be sent. */
export interface PendingPoint {
  readonly metric: Metric;
  /** Of gauges what was read; otherwise everything since the start. */
  readonly total: Point;
  /** What the contributions alone add to it. */
  readonly added: Point;
}

/**
 * What the collector has acknowledged so far, per metric and set of attributes. Gauges are not kept: their points are
 * sent once, as the original does.
 */
export class CumulativeState {
  readonly #tables = new Map<string, PointTable>();

  /** The points that these contributions change, as they are with them. Changes nothing. */
  preview(contributions: readonly Contribution[]): PendingPoint[] {
    const pending = new Map<string, Map<string, PendingPoint>>();
    for (const { tables } of contributions) {
      for (const [id, table] of tables) {
        const changed = pending.get(id) ?? new Map<string, PendingPoint>();
        pending.set(id, changed);
        this.#add(table, changed);
      }
    }
    return [...pending.values()].flatMap((changed) => [...changed.values()]);
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
  }

  #table(metric: Metric): PointTable {
    const known = this.#tables.get(metric.id);
    if (known !== undefined) return known;
    const table = new PointTable(metric);
    this.#tables.set(metric.id, table);
    return table;
  }

  #add(table: PointTable, changed: Map<string, PendingPoint>): void {
    const { metric } = table;
    const kept = this.#tables.get(metric.id);
    let size = (kept?.points.size ?? 0) + [...changed.keys()].filter((key) => !isKept(kept, key)).length;
    for (const read of table.all()) {
      const isNew = !isKept(kept, read.key) && !changed.has(read.key);
      const fits = !isNew || size < metric.maxSeries;
      if (isNew && fits) size += 1;
      // The limit holds for all that has been sent, not only for one contribution.
      const { key, attributes } = fits ? read : table.overflow();
      const before = changed.get(key) ?? start(metric, kept, key, attributes);
      const grown = before.total.value;
      const total = merged(metric, before.total, read, key);
      const added = before.added;
      const sum = added.value + total.value - grown;
      if (metric.kind === 'gauge') added.set(read.value);
      else added.plus(read);
      // Of running totals also what they grew by since the last window.
      if (metric.kind === 'runningTotal') added.value = sum;
      changed.set(key, { metric, total, added });
    }
  }
}

const isKept = (table: PointTable | undefined, key: string): boolean =>
  key === OVERFLOW_KEY || table?.points.has(key) === true;

function start(
  metric: Metric,
  kept: PointTable | undefined,
  key: string,
  attributes: Point['attributes'],
): PendingPoint {
  const known = key === OVERFLOW_KEY ? kept?.overflow() : kept?.points.get(key);
  const fresh = (): Point =>
    key === OVERFLOW_KEY ? new PointTable(metric).overflow() : new Point(key, attributes, metric.bounds);
  return { metric, total: known?.copy() ?? fresh(), added: fresh() };
}

function merged({ kind }: Metric, total: Point, read: Point, key: string): Point {
  if (kind === 'gauge') {
    total.set(read.value);
    return total;
  }
  if (kind !== 'runningTotal') return total.plus(read);
  // Totals of different series cannot be told from falls: the point stays at 0 and shows that there are more.
  return key === OVERFLOW_KEY ? total : total.plusTotals(read);
}
