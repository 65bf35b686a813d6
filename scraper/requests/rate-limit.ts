import { setTimeout as delay } from 'node:timers/promises';
import type { Source } from '../../crds/config/scraper-file/scraper.ts';
import { LONGEST_TIMER_MS } from '../../lib/timer-ms.ts';
import { sourceUrl } from './parameters.ts';

/** Most requests in a time, with `burst` of them at once after a pause. */
export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
  readonly burst: number;
}

/** Waits until a request may be sent. */
export interface RateLimiter {
  /** @throws the reason of the signal when that aborted */
  take(url: string, signal: AbortSignal): Promise<void>;
}

/** Where requests are counted: here, or in a state that all pods share. */
export interface RequestCounter {
  /** Counts one request to a host; the milliseconds to wait before it is sent. */
  reserve(host: string, limit: RateLimit): Promise<number>;
}

/** The strictest limit of the sources of each host: the lowest rate, and the smallest burst. */
export function limitsOf(
  sources: readonly (Pick<Source, 'baseUrl' | 'endpoint'> & { scrape: Pick<Source['scrape'], 'rateLimit'> })[],
): ReadonlyMap<string, RateLimit> {
  const limits = new Map<string, RateLimit>();
  for (const source of sources) {
    const { rateLimit } = source.scrape;
    if (rateLimit === null) continue;
    const { requests, per: perMs, burst } = rateLimit;
    const own = { requests, perMs, burst: burst ?? requests };
    const host = new URL(sourceUrl(source)).host;
    const other = limits.get(host) ?? own;
    const lower = own.requests / own.perMs < other.requests / other.perMs ? own : other;
    limits.set(host, { ...lower, burst: Math.min(own.burst, other.burst) });
  }
  return limits;
}

/** Limits of hosts, for all of their sources, whether or not these have a limit of their own. */
export class HostRateLimiter implements RateLimiter {
  readonly #limits: ReadonlyMap<string, RateLimit>;
  readonly #counter: RequestCounter;
  /** Counts while the shared state cannot. */
  readonly #own = new LocalCounter();

  constructor(limits: ReadonlyMap<string, RateLimit>, counter: RequestCounter) {
    this.#limits = limits;
    this.#counter = counter;
  }

  async take(url: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { host } = new URL(url);
    const limit = this.#limits.get(host);
    if (limit === undefined) return;
    // Politeness does not depend on a store; without it, each pod keeps the limit for itself.
    const wait = await this.#counter.reserve(host, limit).catch(() => this.#own.reserve(host, limit));
    if (wait > 0) await pause(wait, signal);
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(Math.min(Math.ceil(milliseconds), LONGEST_TIMER_MS), undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * A token bucket for each host, as the time at which it will be full again (GCRA): a request takes its token at once and
 * waits for it, so that requests keep their order.
 */
export class LocalCounter implements RequestCounter {
  readonly #clock: () => number;
  /** By that clock. */
  readonly #fullAt = new Map<string, number>();

  /** @param clock milliseconds of a clock that only runs forwards: with one that is set back, all would wait that long */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  reserve(host: string, limit: RateLimit): Promise<number> {
    const { fullAt, wait } = reservation(limit, this.#fullAt.get(host), this.#clock());
    this.#fullAt.set(host, fullAt);
    return Promise.resolve(wait);
  }
}

/** When the bucket is full again after one more request, and how long that waits; all in milliseconds. */
export function reservation(
  { requests, perMs, burst }: RateLimit,
  fullAt: number | undefined,
  now: number,
): { fullAt: number; wait: number } {
  const interval = perMs / requests;
  const from = Math.max(fullAt ?? now, now);
  return { fullAt: from + interval, wait: Math.max(0, from - (burst - 1) * interval - now) };
}
