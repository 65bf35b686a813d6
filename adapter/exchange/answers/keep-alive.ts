/** A response stream that may stay silent for long. */
export interface QuietStream {
  /** Writes a comment if nothing was written since the last call. */
  keepAlive(): void;
}

const TICK_MS = 7_500;

/**
 * Sends a comment on event streams that were silent for 7.5 to 15 seconds, so that load balancers and clients see
 * that they live. One timer for all streams.
 */
export class KeepAlive {
  readonly #streams = new Set<QuietStream>();
  readonly #timer: NodeJS.Timeout;

  constructor(tickMs = TICK_MS) {
    this.#timer = setInterval(() => {
      for (const stream of this.#streams) stream.keepAlive();
    }, tickMs).unref();
  }

  add(stream: QuietStream): void {
    this.#streams.add(stream);
  }

  delete(stream: QuietStream): void {
    this.#streams.delete(stream);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
