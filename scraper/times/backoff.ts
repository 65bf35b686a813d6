import type { Source } from '../../crds/config/scraper-file/scraper.ts';

export interface FailedAttempt {
  /** Failed attempts of the window, this one included, without those that were the collector's fault. */
  readonly attempts: number;
  /** Failed attempts whoever was at fault, this one included. */
  readonly inTotal: number;
  /** Whether the collector was at fault; it gets all the time that it needs. */
  readonly isCollectors: boolean;
  /** Milliseconds that the API or the collector asks for. */
  readonly retryAfterMs: number | undefined;
}

/** Nobody means more. */
const LONGEST_RETRY_AFTER_MS = 86_400_000;
/** 2 to this power times any delay is beyond every maximum. */
const MOST_DOUBLINGS = 30;

/**
 * When a window is tried again: exponential backoff with full jitter, but never before the time that the other side asks
 * for. `dead`: it has been tried often enough.
 *
 * @param random from 0 to 1
 */
export function nextAttempt(
  { attempts, inTotal, isCollectors, retryAfterMs = 0 }: FailedAttempt,
  { maxAttempts, initialDelay, maxDelay }: Source['scrape']['retry'],
  now: Date,
  random: number,
): Date | 'dead' {
  if (!isCollectors && attempts >= maxAttempts) return 'dead';
  return new Date(now.getTime() + Math.max(backoff(inTotal, initialDelay, maxDelay, random), asked(retryAfterMs)));
}

/** Milliseconds to wait after so many failures in a row. */
export function backoff(failures: number, initialMs: number, maxMs: number, random: number): number {
  const doublings = Math.min(Math.max(failures - 1, 0), MOST_DOUBLINGS);
  return Math.ceil(random * Math.min(initialMs * 2 ** doublings, maxMs));
}

const asked = (retryAfterMs: number): number => Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS);
