/** A smaller part costs more to handle than to send. Even short frames and lines are longer. */
const SMALL_BYTES = 32;

/** Counts the small parts of one stream. Whoever sends single bytes makes us work a hundred times for the same traffic. */
export class SmallParts {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether this part makes them so many; it then begins anew. */
  reached(bytes: number): boolean {
    if (bytes >= SMALL_BYTES || ++this.#count < this.#most) return false;
    this.#count = 0;
    return true;
  }
}

/** Of one body of a client, which is refused then. */
export const MOST_OF_A_BODY = 1024;
export const TOO_SMALL = 'The body comes in too many parts of a few bytes; send it in larger ones.';
/** Of an answer; it then waits so long, since servers that write event by event may have cause to send many. */
export const MOST_OF_A_TURN = 2048;
export const PAUSE_MS = 25;
/** What is read of an answer before somebody takes it; of single bytes, each takes two hundred. */
export const READ_AHEAD_BYTES = 16 << 10;
