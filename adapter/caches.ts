import { getHeapStatistics } from 'node:v8';

import { LRUCache } from 'lru-cache';

const LEAST_SIZE = 16 << 20;
const MOST_SIZE = 256 << 20;
/** About what an entry takes up beside its key and its texts. */
const OVERHEAD = 400;
/** What nobody asked for in this time is forgotten, so that memory comes back after a storm. */
const IDLE_MS = 120_000;

/** An eighth of what the program may use, in characters: those outside of Latin-1 take two bytes each. */
const CACHES_SIZE = Math.min(MOST_SIZE, Math.max(LEAST_SIZE, Math.floor(getHeapStatistics().heap_size_limit / 8)));

interface Kept {
  readonly value: unknown;
  readonly size: number;
}

/**
 * Everything that is kept only to be quicker, of all upstreams in one account: limits of each cache say nothing about the
 * caches of a hundred upstreams. What was used longest ago goes first, whoever has it.
 */
export class Caches {
  readonly #kept: LRUCache<string, Kept>;
  readonly #timer: NodeJS.Timeout;
  #regions = 0;

  /** @param size in characters, about */
  constructor(size: number = CACHES_SIZE, idleMs: number = IDLE_MS) {
    this.#kept = new LRUCache({
      maxSize: size,
      // One entry must not drive out all others.
      maxEntrySize: Math.ceil(size / 2),
      sizeCalculation: (one) => one.size,
      ttl: idleMs,
      ttlResolution: 1000,
      updateAgeOnGet: true,
      perf: { now: () => performance.now() },
    });
    this.#timer = setInterval(() => this.#kept.purgeStale(), idleMs / 4);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** What is kept, in characters. */
  get size(): number {
    return this.#kept.calculatedSize;
  }

  /**
   * A cache of its own in the account.
   * @param sizeOf the characters of a value
   */
  region<V>(sizeOf: (value: V) => number): Cache<V> {
    this.#regions += 1;
    const prefix = `${this.#regions}\n`;
    return {
      get: (key) => this.#kept.get(prefix + key)?.value as V | undefined,
      set: (key, value) => {
        this.#kept.set(prefix + key, { value, size: key.length + OVERHEAD + sizeOf(value) });
      },
      delete: (key) => {
        this.#kept.delete(prefix + key);
      },
    };
  }
}

/** What `get` gives back may be gone at the next moment: its owner can ask, or work it out, again. */
export interface Cache<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
}
