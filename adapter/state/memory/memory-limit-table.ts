import type { LimitTable } from '../tables/limit-table.ts';

/** Fewer are not worth a look at all of them. */
const LEAST_SWEPT = 1_000;
/** Beyond it a quarter goes, of those that are soon as good as new: addresses are many. */
const MAX_BUCKETS = 200_000;

/** Limits in maps. Buckets that are as good as new go when there are twice as many as were left the last time. */
export class MemoryLimitTable implements LimitTable {
  readonly #freeAt = new Map<string, number>();
  readonly #places = new Map<string, Map<string, number>>();
  #sweepAt = LEAST_SWEPT;

  freeAt(key: string): number {
    return this.#freeAt.get(key) ?? 0;
  }

  setFreeAt(key: string, us: number, now: number): void {
    this.#freeAt.set(key, us);
    if (this.#freeAt.size > this.#sweepAt) this.#sweep(now);
  }

  placesTaken(key: string, now: number): number {
    const places = this.#places.get(key);
    if (places === undefined) return 0;
    for (const [id, until] of places) if (until <= now) places.delete(id);
    if (places.size === 0) this.#places.delete(key);
    return places.size;
  }

  holdsPlace(key: string, id: string): boolean {
    return this.#places.get(key)?.has(id) === true;
  }

  setPlace(key: string, id: string, until: number): void {
    const places = this.#places.get(key);
    if (places === undefined) this.#places.set(key, new Map([[id, until]]));
    else places.set(id, until);
  }

  dropPlace(key: string, id: string): void {
    const places = this.#places.get(key);
    if (places?.delete(id) === true && places.size === 0) this.#places.delete(key);
  }

  /** How many buckets and lists of places there are. */
  get size(): number {
    return this.#freeAt.size + this.#places.size;
  }

  #sweep(now: number): void {
    for (const [key, us] of this.#freeAt) if (us <= now * 1000) this.#freeAt.delete(key);
    if (this.#freeAt.size >= MAX_BUCKETS) {
      const soonest = [...this.#freeAt].sort(([, a], [, b]) => a - b).slice(0, MAX_BUCKETS / 4);
      for (const [key] of soonest) this.#freeAt.delete(key);
    }
    this.#sweepAt = Math.min(Math.max(LEAST_SWEPT, 2 * this.#freeAt.size), MAX_BUCKETS);
  }
}
