import type { Worker } from 'node:worker_threads';

/** A worker that nobody has taken takes about 12 MB. */
const KEPT_MS = 30_000;

/** One worker started ahead, while runs follow each other: starting takes longer than most code does. */
export class SpareWorker {
  readonly #start: () => Worker;
  #spare: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(start: () => Worker) {
    this.#start = start;
  }

  take(): Worker {
    const spare = this.#spare;
    this.#forget();
    return spare ?? this.#start();
  }

  /** For the next run, if it comes soon. */
  prepare(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.close(), KEPT_MS).unref();
    if (this.#spare !== undefined) return;
    const spare = this.#start();
    this.#spare = spare;
    // A process that has nothing else to do ends without it.
    spare.unref();
    const gone = (): void => {
      if (this.#spare === spare) this.#forget();
    };
    spare.on('error', gone);
    spare.on('exit', gone);
  }

  async close(): Promise<void> {
    const spare = this.#spare;
    this.#forget();
    await spare?.terminate();
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#spare = undefined;
  }
}
