/** Whether an answer that has begun goes on: of each period, so many bytes have to come. */
export class LeastRate implements Disposable {
  readonly #least: number;
  readonly #periodMs: number;
  readonly #tooSlow: () => void;
  #timer: NodeJS.Timeout | undefined;
  #bytes = 0;

  /** @param bytesPerSecond 0: any rate will do */
  constructor(bytesPerSecond: number, periodMs: number, tooSlow: () => void) {
    this.#least = (bytesPerSecond * periodMs) / 1000;
    this.#periodMs = periodMs;
    this.#tooSlow = tooSlow;
  }

  /** It counts from the first of these: until then an API may think. */
  arrived(bytes: number): void {
    this.#bytes += bytes;
    if (this.#timer === undefined) this.#begin();
  }

  /** While something else is waited for, nothing has to come. */
  async paused(wait: () => Promise<void>): Promise<void> {
    clearInterval(this.#timer);
    await wait();
    this.#begin();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #begin(): void {
    if (this.#least <= 0) return;
    this.#bytes = 0;
    this.#timer = setInterval(() => {
      if (this.#bytes < this.#least) this.#tooSlow();
      this.#bytes = 0;
    }, this.#periodMs);
  }
}
