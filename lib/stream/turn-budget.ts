/** What a part costs beside its bytes: handling a single byte takes as long as reading so many. */
const PART_BYTES = 1 << 10;

/**
 * What all connections together may bring in one turn of the event loop. libuv reads up to 2 MiB of each before it goes
 * on, so that sixty of them keep all others waiting for a tenth of a second.
 */
export class TurnBudget {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts a part that was read. @returns whether its reader has to wait for the next turn (`setImmediate`) */
  isSpentBy(partBytes: number): boolean {
    if (this.#bytes === 0) setImmediate(this.#begin);
    this.#bytes += partBytes + PART_BYTES;
    return this.#bytes > this.#mostBytes;
  }

  readonly #begin = (): void => {
    this.#bytes = 0;
  };
}

/** Of this process. */
export const turnBudget = new TurnBudget(1 << 20);
