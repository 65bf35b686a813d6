/**
 * Bytes that wait in this process, of everybody together. Limits of one request say nothing about a thousand of them, and
 * memory that has run out ends all of them.
 */
export class ByteBudget {
  readonly limit: number;
  #used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** What one request holds of it; nothing at first. */
  share(): ByteShare {
    return new ByteShare(this);
  }

  /** For shares only: takes so many, or gives them back. */
  add(bytes: number): boolean {
    if (bytes > 0 && this.#used + bytes > this.limit) return false;
    this.#used += bytes;
    return true;
  }
}

/** Must be given back, once or more often, however its request ends. */
export class ByteShare {
  readonly #budget: ByteBudget;
  #held = 0;
  #isOver = false;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** False: there is no room for so many more. */
  take(bytes: number): boolean {
    if (this.#isOver || !this.#budget.add(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** Holds so many instead. False: there is no room for what is more, and nothing has changed. */
  set(bytes: number): boolean {
    return this.take(bytes - this.#held);
  }

  giveBack(): void {
    this.#isOver = true;
    this.#budget.add(-this.#held);
    this.#held = 0;
  }
}

/**
 * How many bytes of bodies may be under way where nobody has said it: each is there as bytes and as text, and then as
 * values.
 *
 * @param memory what the process may use, in bytes; `heap`: of that, for text and values; `largest`: one body
 */
export function bodyBudget(memory: {
  readonly memory: number;
  readonly heap: number;
  readonly largest: number;
}): number {
  return Math.max(memory.largest, Math.floor(Math.min(memory.memory, memory.heap) / 4));
}
