import { createHash } from 'node:crypto';
import type { Source } from '../../crds/config/scraper-file/scraper.ts';
import { cronTimes } from './cron-times.ts';

/** When a source is scraped. */
export interface Schedule {
  /** Two sources with the same one keep their times when one takes the place of the other. */
  readonly id: string;
  /** The first tick after this time; undefined: there is none. */
  readonly next: (after: Date) => Date | undefined;
  /** Milliseconds from the tick before this time to the one behind it, for a first range of time. */
  readonly period: (now: Date) => number;
  /** Milliseconds that a tick is put off. @param random from 0 to 1 */
  readonly delay: (random: number) => number;
}

/** Ticks of sources with the same frequency are spread over at most this time. */
const LONGEST_SPREAD_MS = 60_000;

/**
 * The schedule of a source: its cron expression in UTC, else its frequency, counted from `start` without drift. The first
 * tick comes after one period, give or take half a minute or half a period, as the name decides: so a thousand sources do
 * not come at once, and none right after the run at the start.
 */
export function scheduleOf({ name, cron, frequency, jitter }: Source, start: Date): Schedule {
  const id = JSON.stringify([cron, frequency, jitter]);
  const delay = (random: number): number => Math.floor(random * jitter);
  if (cron !== null) {
    const times = cronTimes(cron);
    const next = (after: Date): Date | undefined => times.next(after);
    return { id, next, delay, period: (now) => cronPeriod(next, now) };
  }
  // Without a cron expression there is a frequency: the configuration has seen to it.
  const periodMs = frequency ?? LONGEST_SPREAD_MS;
  const shift = Math.floor((spreadOf(name) - 0.5) * Math.min(periodMs, LONGEST_SPREAD_MS));
  const base = start.getTime() + shift;
  return {
    id,
    delay,
    next: (after) => new Date(base + Math.max(1, Math.floor((after.getTime() - base) / periodMs) + 1) * periodMs),
    period: () => periodMs,
  };
}

function cronPeriod(next: Schedule['next'], now: Date): number {
  const first = next(now);
  const second = first === undefined ? undefined : next(first);
  return first === undefined || second === undefined ? 0 : second.getTime() - first.getTime();
}

/** From 0 to 1, the same for a name at all times. */
const spreadOf = (name: string): number => createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32;
