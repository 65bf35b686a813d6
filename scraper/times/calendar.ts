/** What the C locale and the calendar know, for times in both directions. */

export const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** Directives that stand for others in the C locale. */
export const COMPOSITES: Readonly<Record<string, string>> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/** Formats of times as numbers since 1970, and the nanoseconds of their unit. */
export const UNIX_UNITS: ReadonlyMap<string, bigint> = new Map([
  ['unix', 1_000_000_000n],
  ['unix_ms', 1_000_000n],
  ['unix_us', 1000n],
  ['unix_ns', 1n],
]);

const DAY_MS = 86_400_000;

/** Like `Date.UTC`, but for years below 100, too; the month counts from 1. */
export function utcDay(year: number, month: number, day: number): number {
  return year > 99 ? Date.UTC(year, month - 1, day) : new Date(0).setUTCFullYear(year, month - 1, day);
}

/** The Monday that starts week 1 of an ISO year, in milliseconds. */
export function isoYearStart(year: number): number {
  const fourth = utcDay(year, 1, 4);
  return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS;
}
