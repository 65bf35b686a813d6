/** Counts what is under way, for those who wait until nothing is. */
export class InProgress {
  #count = 0;
  #waiting: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  enter(): void {
    this.#count++;
  }

  leave(): void {
    if (--this.#count === 0) for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when nothing is under way, or when the signal ends the wait. */
  async idle(signal?: AbortSignal): Promise<void> {
    if (this.#count === 0 || signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    signal?.addEventListener('abort', () => resolve(), { once: true });
    await promise;
  }
}
