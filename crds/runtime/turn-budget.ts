/** What a part costs beside its bytes: handling a single byte takes as long as reading so many. */
const PART_BYTES = 1 << 10;

/**
 * What all connections together may bring in one turn of the event loop. libuv reads up to 2 MiB of each before it goes
 * on, so that sixty of them keep all others waiting for a tenth of a second.
 */
export class TurnBudget {
  readonly #mostBytes: number;
  #bytes = 0;
  /** When the next turn begins; undefined while nothing was counted in this one. */
  #next: NodeJS.Immediate | undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts a part that was read. @returns whether its reader has to wait for the next turn (`setImmediate`) */
  isSpentBy(partBytes: number): boolean {
    this.#bytes += partBytes + PART_BYTES;
    this.#next ??= setImmediate(this.#begin);
    return this.#bytes > this.#mostBytes;
  }

  readonly #begin = (): void => {
    this.#bytes = 0;
    this.#next = undefined;
  };
}

/** Of this process. */
export const turnBudget = new TurnBudget(1 << 20);
