/** Lets so many in at a time; the others wait in their order. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.#free = size;
  }

  /**
   * Waits for a slot and returns what gives it back.
   * @throws the reason of the signal when that aborted
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    let isTaken = true;
    return () => {
      if (isTaken) this.#giveBack();
      isTaken = false;
    };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.add(resolve);
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  /** The slot goes straight to who waits longest. */
  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
