/** A smaller part costs nothing that would have to be counted. */
const LARGE_PART_BYTES = 16 << 10;

/**
 * What all connections together may bring in one turn of the event loop. libuv reads up to 2 MiB of each before it goes
 * on, so that sixty of them would keep all others waiting for a tenth of a second.
 */
export class TurnBudget {
  readonly #mostBytes: number;
  #bytes = 0;
  #reset: NodeJS.Immediate | undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts a part that was read. @returns whether its reader has to wait for the next turn (`setImmediate`) */
  isSpentBy(partBytes: number): boolean {
    if (partBytes < LARGE_PART_BYTES) return false;
    this.#bytes += partBytes;
    this.#reset ??= setImmediate(() => {
      this.#bytes = 0;
      this.#reset = undefined;
    });
    return this.#bytes > this.#mostBytes;
  }
}

/** Of this process. */
export const turnBudget = new TurnBudget(1 << 20);
