import { releaseBytes } from '../../exchange/answers/release-bytes.ts';

/** What may wait for its reader before no more is taken. */
const MOST_WAITING_BYTES = 128 * 1024;

/**
 * The content of one file of a form, on its way from the parser to the one who reads it. Unlike a stream it never joins
 * chunks, and it gives the memory of each back when the next is asked for: what comes in is so much that it would
 * otherwise keep the garbage collector busy.
 */
export class FormContent {
  readonly #onTaken: () => void;
  readonly #onRead: () => void;
  readonly #waiting: Buffer[] = [];
  #bytes = 0;
  #isComplete = false;
  #failure: { readonly reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** `onTaken`: there is room again after `push` said that there is none. `onRead`: all of it was read. */
  constructor(onTaken: () => void, onRead: () => void) {
    this.#onTaken = onTaken;
    this.#onRead = onRead;
  }

  /** Takes the chunk over; null: that was all. False: no more should come before `onTaken`. */
  push(chunk: Buffer | null): boolean {
    if (this.#failure !== undefined) return true;
    if (chunk === null) this.#isComplete = true;
    else {
      this.#waiting.push(chunk);
      this.#bytes += chunk.length;
    }
    this.#wake?.();
    return this.#bytes < MOST_WAITING_BYTES;
  }

  /** The reader fails with this, and what still comes is dropped. */
  fail(reason: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { reason };
    this.#waiting.length = 0;
    this.#wake?.();
  }

  /** Once. A chunk is valid only until the next one is asked for. */
  async *read(): AsyncGenerator<Buffer, void> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.reason;
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) {
        const wasFull = this.#bytes >= MOST_WAITING_BYTES;
        this.#bytes -= chunk.length;
        if (wasFull && this.#bytes < MOST_WAITING_BYTES) this.#onTaken();
        yield chunk;
        releaseBytes(chunk);
      } else if (this.#isComplete) {
        this.#onRead();
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    }
  }
}
