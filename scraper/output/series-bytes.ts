/** A point with its place in tables, its start and its attributes, without their text. */
const BYTES_OF_A_POINT = 512;
/** What does not fit into a byte makes each character of a text take two. */
const WIDE = /[\u0100-\uFFFF]/;

/** What a set of attributes of a metric with so many bounds holds in memory, about: its text stands there twice. */
export function seriesBytes(key: string, bounds: number): number {
  return BYTES_OF_A_POINT + 8 * bounds + 2 * key.length * (WIDE.test(key) ? 2 : 1);
}

interface Owner {
  readonly source: string;
  readonly maxSeriesBytes: number;
}

/** What sets of attributes hold: those of each source, and all together. */
export class SeriesBytes {
  readonly #most: number;
  readonly #bySource = new Map<string, number>();
  #total = 0;

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  get total(): number {
    return this.#total;
  }

  /** Whether there is room for so much more of the metric's source, beside what else is about to come. */
  fits({ source, maxSeriesBytes }: Owner, bytes: number, coming?: SeriesBytes): boolean {
    const own = this.#of(source) + (coming === undefined ? 0 : coming.#of(source));
    return own + bytes <= maxSeriesBytes && this.#total + (coming?.total ?? 0) + bytes <= this.#most;
  }

  add(source: string, bytes: number): void {
    this.#bySource.set(source, this.#of(source) + bytes);
    this.#total += bytes;
  }

  forget(source: string): void {
    this.#total -= this.#of(source);
    this.#bySource.delete(source);
  }

  #of(source: string): number {
    return this.#bySource.get(source) ?? 0;
  }
}
