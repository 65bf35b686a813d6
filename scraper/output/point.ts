import type { Attributes } from '@opentelemetry/api';

/** What has been read for one set of attributes of one metric: by a window, or in all. */
export class Point {
  readonly key: string;
  readonly attributes: Attributes;
  /** A gauge's last value, or the sum. */
  value = 0;
  /** Running totals: the earliest and the latest that was read, and of when they are, in nanoseconds since 1970. */
  first = 0;
  last = 0;
  firstTime = Infinity;
  lastTime = -Infinity;
  /** The latest record that says when it was, in nanoseconds since 1970; of a gauge the one whose value it has. */
  at: bigint | undefined;
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

  /** The last value, or the latest where records say when they were. */
  set(value: number, at?: bigint): void {
    this.count += 1;
    if (at !== undefined && this.at !== undefined && at < this.at) return;
    this.value = value;
    this.at = at;
  }

  /** Something was read that is of this time. */
  note(at: bigint | undefined): void {
    if (at !== undefined && (this.at === undefined || at > this.at)) this.at = at;
  }

  add(value: number): void {
    this.value += value;
    this.count += 1;
  }

  /**
   * A running total: what it has grown by counts. After a fall it has begun again at 0. Answers may begin with the newest
   * record; what lies between two totals that were read says nothing new.
   *
   * @param time of the record; undefined: it is later than those before it, in this span
   */
  addTotal(total: number, time: number | undefined, span: Span): void {
    const isLater = time === undefined || time > this.lastTime || (time === this.lastTime && total >= this.last);
    const isEarlier = time !== undefined && (time < this.firstTime || (time === this.firstTime && total <= this.first));
    if (this.count > 0 && isLater) this.value += growth(this.last, total);
    else if (this.count > 0 && isEarlier) this.value += growth(total, this.first);
    if (this.count === 0 || isLater) [this.last, this.lastTime] = [total, time ?? Math.max(this.lastTime, span.end)];
    if (this.count === 0 || (isEarlier && !isLater)) [this.first, this.firstTime] = [total, time ?? span.start];
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
    this.note(later.at);
    if (this.count === 0) [this.first, this.firstTime] = [later.first, later.firstTime];
    [this.last, this.lastTime] = [later.last, later.lastTime];
    this.count += later.count;
    this.min = Math.min(this.min, later.min);
    this.max = Math.max(this.max, later.max);
    for (const [bucket, count] of later.buckets.entries()) this.buckets[bucket] = (this.buckets[bucket] ?? 0) + count;
    return this;
  }

  /**
   * As `plus`, for running totals, whose windows come in any order: the growth between the two also counts. Of a window
   * that overlaps what has been read, only what lies outside.
   */
  plusTotals(other: Point): this {
    if (this.count === 0 || other.count === 0) return this.plus(other);
    if (other.firstTime >= this.lastTime) {
      this.value += growth(this.last, other.first);
      return this.plus(other);
    }
    this.count += other.count;
    if (other.lastTime <= this.firstTime) {
      this.value += other.value + growth(other.last, this.first);
    } else {
      if (other.firstTime < this.firstTime) this.value += growth(other.first, this.first);
      if (other.lastTime > this.lastTime) this.value += growth(this.last, other.last);
    }
    if (other.firstTime < this.firstTime) [this.first, this.firstTime] = [other.first, other.firstTime];
    if (other.lastTime > this.lastTime) [this.last, this.lastTime] = [other.last, other.lastTime];
    return this;
  }
}

/** From when to when a record without a time of its own may be, in nanoseconds since 1970. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const growth = (before: number, after: number): number => (after >= before ? after - before : after);
