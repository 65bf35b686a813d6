import { abortable } from './abortable.ts';

interface Running<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiters: number;
}

/** Work that all share who ask for it at the same time, and that is stopped when none of them waits any more. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Running<T>>();

  /** Rejects with the signal's reason as soon as that is aborted. */
  async of(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    let running = this.#running.get(key);
    if (running === undefined) {
      const controller = new AbortController();
      running = { result: work(controller.signal), controller, waiters: 0 };
      this.#running.set(key, running);
    }
    running.waiters++;
    try {
      return await abortable(running.result, signal);
    } finally {
      // Whoever asks from now on wants to know how it is now.
      if (this.#running.get(key) === running) this.#running.delete(key);
      if (--running.waiters === 0) running.controller.abort(signal.reason);
    }
  }
}
