/** What a part costs beside its bytes: handling a single byte takes as long as reading so many. */
const PART_BYTES = 1 << 10;

/**
 * What all connections together may bring in one turn of the event loop. libuv reads up to 2 MiB of each before it goes
 * on, so that sixty of them keep all others waiting for a tenth of a second.
 */
export class TurnBudget {
  readonly #mostBytes: number;
  readonly #listeners = new Set<() => void>();
  #bytes = 0;
  /** Of the next turn; undefined while nothing was counted in this one. */
  #reset: NodeJS.Immediate | undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** `listener` holds connections until the next turn. @returns what takes it off */
  onSpent(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Counts a part that was read. @returns whether this turn has had enough */
  count(partBytes: number): boolean {
    const wasSpent = this.#bytes > this.#mostBytes;
    this.#bytes += partBytes + PART_BYTES;
    this.#reset ??= setImmediate(this.#begin);
    if (wasSpent || this.#bytes <= this.#mostBytes) return wasSpent;
    for (const listener of this.#listeners) listener();
    return true;
  }

  readonly #begin = (): void => {
    this.#bytes = 0;
    this.#reset = undefined;
  };
}

/** Of this process. */
export const turnBudget = new TurnBudget(1 << 20);
