import type { Attributes } from '@opentelemetry/api';

/** What has been read for one set of attributes of one metric: by a window, or in all. */
export class Point {
  readonly key: string;
  readonly attributes: Attributes;
  /** A gauge's last value, or the sum. */
  value = 0;
  /** Running totals: the first and the last that was read. */
  first = 0;
  last = 0;
  /** How many values have been read. */
  count = 0;
  min = Infinity;
  max = -Infinity;
  readonly buckets: number[];
  readonly #bounds: readonly number[];

  constructor(key: string, attributes: Attributes, bounds: readonly number[]) {
    this.key = key;
    this.attributes = attributes;
    this.#bounds = bounds;
    this.buckets = Array<number>(bounds.length + 1).fill(0);
  }

  set(value: number): void {
    this.value = value;
    this.count += 1;
  }

  add(value: number): void {
    this.value += value;
    this.count += 1;
  }

  /** A running total: what it has grown by counts. After a fall it has begun again at 0. */
  addTotal(total: number): void {
    if (this.count === 0) this.first = total;
    else this.value += growth(this.last, total);
    this.last = total;
    this.count += 1;
  }

  record(value: number): void {
    this.value += value;
    this.count += 1;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    const bounds = this.#bounds;
    let bucket = 0;
    // Bounds are few; the upper one belongs to its bucket.
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1;
  }

  /** A copy that goes on from here. */
  copy(): Point {
    return new Point(this.key, this.attributes, this.#bounds).plus(this);
  }

  /** Takes in what was read after it. */
  plus(later: Point): this {
    if (later.count === 0) return this;
    this.value += later.value;
    this.first = this.count === 0 ? later.first : this.first;
    this.last = later.last;
    this.count += later.count;
    this.min = Math.min(this.min, later.min);
    this.max = Math.max(this.max, later.max);
    for (const [bucket, count] of later.buckets.entries()) this.buckets[bucket] = (this.buckets[bucket] ?? 0) + count;
    return this;
  }

  /** As `plus`, for running totals: the growth between the two also counts. */
  plusTotals(later: Point): this {
    if (this.count > 0 && later.count > 0) this.value += growth(this.last, later.first);
    return this.plus(later);
  }
}

const growth = (before: number, after: number): number => (after >= before ? after - before : after);
