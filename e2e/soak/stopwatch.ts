/** In milliseconds. */
export interface Times {
  readonly count: number;
  readonly failed: number;
  /** Why the first one did. */
  readonly reason: string | undefined;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** When the longest was over, in milliseconds since 1970. */
  readonly maxAt: number;
}

/** Times of work that is done again and again. */
export class Stopwatch {
  #times: number[] = [];
  #failed = 0;
  #reason: string | undefined;
  #longest = { ms: 0, at: 0 };

  add(ms: number): void {
    this.#times.push(ms);
    if (ms > this.#longest.ms) this.#longest = { ms, at: Date.now() };
  }

  /** Work that rejects, or says false, has failed; it counts with its time. */
  async time(work: () => Promise<boolean>): Promise<void> {
    const began = performance.now();
    const failure = await work().then((isFine) => (isFine ? undefined : 'wrong answer'), reasonOf);
    if (failure !== undefined) {
      this.#failed += 1;
      this.#reason ??= failure;
    }
    this.add(performance.now() - began);
  }

  /** What there is since it was taken last. */
  take(): Times {
    const sorted = this.#times.toSorted((a, b) => a - b);
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    const times = {
      count: sorted.length,
      failed: this.#failed,
      reason: this.#reason,
      p50: at(0.5),
      p99: at(0.99),
      max: at(1),
      maxAt: this.#longest.at,
    };
    this.#times = [];
    this.#failed = 0;
    this.#reason = undefined;
    this.#longest = { ms: 0, at: 0 };
    return times;
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
