interface Known {
  readonly count: number;
  readonly at: number;
}

/** So many are made at once: a slip, and its correction. */
const FREE = 3;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** After so long without one, or twice the last pause, all is forgotten. */
const CALM_MS = 60_000;

/**
 * How often what somebody else changes again and again is put back: the longer that goes on, the less often.
 * Otherwise two who want different things would write as fast as they can, for ever.
 */
export class Repairs {
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  /** @param now milliseconds of a clock that only goes forward */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds until the object may be put back; 0: now. */
  waitMs(id: string): number {
    const known = this.#of(id);
    return known === undefined ? 0 : Math.max(0, known.at + pauseAfter(known.count) - this.#now());
  }

  /** Whether the next repair is one of many. */
  isContested(id: string): boolean {
    return (this.#of(id)?.count ?? 0) >= FREE;
  }

  made(id: string): void {
    const count = (this.#of(id)?.count ?? 0) + 1;
    for (const other of this.#known.keys()) if (this.#of(other) === undefined) this.#known.delete(other);
    this.#known.set(id, { count, at: this.#now() });
  }

  /** Number of objects remembered. */
  get size(): number {
    return this.#known.size;
  }

  #of(id: string): Known | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    return this.#now() - known.at < Math.max(CALM_MS, 2 * pauseAfter(known.count)) ? known : undefined;
  }
}

const pauseAfter = (count: number): number =>
  count < FREE ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (count - FREE), LONGEST_PAUSE_MS);
