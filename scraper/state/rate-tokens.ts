/** Most requests in a time, as `scrape.rateLimit` has it. */
export interface RateLimit {
  readonly requests: number;
  /** Milliseconds. */
  readonly per: number;
  /** Most requests at once after a pause. */
  readonly burst: number;
}

/** Places in the row of requests to a host. */
export interface RateTokens {
  /** Takes the next place. Returns in how many milliseconds it is there; 0: now. */
  takeTokens(host: string, limit: RateLimit, now: Date): Promise<number>;
}

/**
 * The generic cell rate algorithm: `nextAt` is when the bucket is full again, undefined at first. Each request moves it
 * on by its share of the time, and waits for whatever exceeds the burst.
 */
export function nextPlace(
  nextAt: number | undefined,
  { requests, per, burst }: RateLimit,
  now: number,
): { nextAt: number; waitMs: number } {
  const share = per / requests;
  const from = Math.max(nextAt ?? now, now);
  return { nextAt: from + share, waitMs: Math.max(0, Math.ceil(from - (burst - 1) * share - now)) };
}

/** For one process. It forgets hosts whose bucket is full. */
export class LocalRateTokens implements RateTokens {
  readonly #nextAt = new Map<string, number>();

  async takeTokens(host: string, limit: RateLimit, now: Date): Promise<number> {
    const time = now.getTime();
    const { nextAt, waitMs } = nextPlace(this.#nextAt.get(host), limit, time);
    for (const [other, at] of this.#nextAt) if (at <= time) this.#nextAt.delete(other);
    this.#nextAt.set(host, nextAt);
    return waitMs;
  }
}
