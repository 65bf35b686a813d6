import { z } from 'zod';

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

/** Milliseconds of each unit. A month has 30 days. */
const UNITS: Readonly<Record<string, number>> = {
  mon: 30 * DAY,
  w: 7 * DAY,
  d: DAY,
  h: 60 * MINUTE,
  min: MINUTE,
  m: MINUTE,
  s: 1000,
};

const SHAPE = /^\s*([0-9]+)(s|m|min|h|d|w|mon)\s*$/;

const ALLOWED = 'a duration such as 30s, 5m, 5min, 1h, 1d, 1w or 1mon (one whole number and one unit)';

/** The milliseconds that a text such as `5min` means; undefined when it is not a duration. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = SHAPE.exec(text) ?? [];
  const milliseconds = unit === undefined ? undefined : Number(digits) * (UNITS[unit] ?? Number.NaN);
  return Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}

/** The shortest text that means these milliseconds, which must be whole seconds: 90000 → `90s`, 120000 → `2min`. */
export function formatDuration(milliseconds: number): string {
  const [unit, size] = Object.entries(UNITS).find(([, size]) => milliseconds % size === 0) ?? ['s', 1000];
  return milliseconds === 0 ? '0s' : `${milliseconds / size}${unit}`;
}

/** A duration, written as text. Comes out in milliseconds; more than 0, or at least 0 with `orZero`. */
export function duration({ orZero = false }: { orZero?: boolean } = {}) {
  const error = orZero ? ALLOWED : `${ALLOWED}; more than 0`;
  return z
    .string({ error })
    .regex(SHAPE, { error })
    .transform((text, context) => {
      const milliseconds = parseDuration(text);
      if (milliseconds !== undefined && (orZero || milliseconds > 0)) return milliseconds;
      context.issues.push({ code: 'custom', input: text, message: error });
      return z.NEVER;
    });
}
