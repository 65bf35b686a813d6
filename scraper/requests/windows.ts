import type { Source } from '../../crds/config/scraper-file/scraper.ts';
import { compileTimePattern, parseIsoTime } from '../times/strptime.ts';

/** A window of time: start and end are sent; whether they belong to it is for the API to say. */
export interface Window {
  readonly start: Date;
  readonly end: Date;
}

type Scrape = Source['scrape'];

const UNIT_MS = {
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
  weeks: 604_800_000,
  months: 2_592_000_000,
} as const;

/** Milliseconds of a unit of `rangeKeys` or `parallelWindow`; a month has 30 days. */
export const unitMs = (unit: keyof typeof UNIT_MS): number => UNIT_MS[unit];

/** Ticks and their requests may come so late. */
export const ON_TIME_MS = 5_000;

/** How a source tells the API which time it wants. */
export type TimeMode = 'explicit' | 'relative' | 'none';

export function timeMode({ type, rangeKeys }: Pick<Scrape, 'type' | 'rangeKeys'>): TimeMode {
  if (type === 'instant' || rangeKeys === null) return 'none';
  if (rangeKeys.startKey && rangeKeys.endKey) return 'explicit';
  return rangeKeys.unit === null ? 'none' : 'relative';
}

/**
 * Milliseconds at the start of a window that its request has not asked for, because it sends a number that is always the
 * same; 0 when it was on time.
 */
export function outOfReach({ lag, ...scrape }: Scrape, { start }: Window, asked: Date, periodMs: number): number {
  const { unit, value } = scrape.rangeKeys ?? {};
  if (timeMode(scrape) !== 'relative' || typeof value !== 'number' || !unit) return 0;
  const missed = asked.getTime() - lag - start.getTime() - Math.max(Math.abs(value) * unitMs(unit), periodMs);
  return missed > ON_TIME_MS ? missed : 0;
}

/** The size of the windows that a range is cut into; null: it stays whole, because each would be the same request. */
export function windowSize(scrape: Pick<Scrape, 'type' | 'rangeKeys' | 'parallelWindow'>): number | null {
  const { parallelWindow } = scrape;
  return parallelWindow === null || timeMode(scrape) !== 'explicit'
    ? null
    : parallelWindow.value * unitMs(parallelWindow.unit);
}

export interface Range {
  readonly from: Date;
  readonly to: Date;
  /** Milliseconds; null: one window. */
  readonly size: number | null;
  /** Most windows; the rest of the range is for the next time. */
  readonly limit?: number;
}

/** Contiguous windows over a range, the last one shortened to its end; none when the range is empty. */
export function split({ from, to, size, limit = Infinity }: Range): Window[] {
  if (from >= to) return [];
  if (size === null) return [{ start: from, end: to }];
  const windows: Window[] = [];
  for (let start = from; start < to && windows.length < limit;) {
    const end = new Date(Math.min(start.getTime() + size, to.getTime()));
    windows.push({ start, end });
    start = end;
  }
  return windows;
}

export interface Planned {
  readonly from: Date;
  readonly to: Date;
  /** What lies too far back to be caught up. */
  readonly skipped: Window | undefined;
}

/**
 * What is to be planned behind `plannedUntil`: as far as `lag` lets it, and no further back than `maxCatchUp`.
 * Undefined when nothing is, such as after the clock went backwards.
 */
export function nextRange(
  plannedUntil: Date,
  now: Date,
  { lag, maxCatchUp }: Pick<Scrape, 'lag' | 'maxCatchUp'>,
): Planned | undefined {
  const to = now.getTime() - lag;
  const planned = plannedUntil.getTime();
  if (planned >= to) return undefined;
  const from = new Date(maxCatchUp === null ? planned : Math.max(planned, to - maxCatchUp));
  const skipped = from.getTime() > planned ? { start: plannedUntil, end: from } : undefined;
  return { from, to: new Date(to), skipped };
}

/**
 * Where the first scrape of a source starts: `firstScrapeStart`, written in the format of the window times or in ISO
 * 8601, else one period before now.
 *
 * @param pattern the format of the window times
 * @param periodMs time between two scrapes
 * @throws Error when `firstScrapeStart` is no time
 */
export function firstStart(text: string | null | undefined, pattern: string, now: Date, periodMs: number): Date {
  if (!text) return new Date(now.getTime() - periodMs);
  const time = readBy(pattern, text) ?? parseIsoTime(text);
  if (time === undefined) {
    throw new Error(
      `is no time: write ISO 8601, such as 2026-01-31T00:00:00Z, or the format of the window times (${pattern || 'ISO 8601'})`,
    );
  }
  return new Date(Number(time / 1_000_000n));
}

/** A pattern that can only be written leaves ISO 8601. */
function readBy(pattern: string, text: string): bigint | undefined {
  try {
    return compileTimePattern(pattern)(text);
  } catch {
    return undefined;
  }
}

/** The format of the window times of a source; an empty one falls through to the next. */
export function timePattern(
  { timeFormat, rangeKeys }: Pick<Scrape, 'timeFormat' | 'rangeKeys'>,
  ofAll: string,
): string {
  return rangeKeys?.dateFormat || timeFormat || ofAll;
}
