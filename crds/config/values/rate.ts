import { z } from 'zod';

/** Milliseconds of each unit. */
const UNITS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 };

const SHAPE = /^([1-9][0-9]{0,4})\/(s|min|h)$/;

/** The same with white space around it. */
const PATTERN = /^\s*[1-9][0-9]{0,4}\/(s|min|h)\s*$/;

const ALLOWED = 'a rate such as 10/s, 100/min or 500/h (a whole number below 100000 and one unit)';

/** So many in so much time. */
export interface Rate {
  readonly count: number;
  readonly periodMs: number;
}

/** What a text such as `100/min` means; undefined when it is not a rate. */
export function parseRate(text: string): Rate | undefined {
  const [, count, unit = ''] = SHAPE.exec(text.trim()) ?? [];
  const periodMs = UNITS[unit];
  return periodMs === undefined ? undefined : { count: Number(count), periodMs };
}

/** A rate, written as text. It stays one, without white space around it. */
export function rate() {
  return z
    .string({ error: ALLOWED })
    .regex(PATTERN, { error: ALLOWED })
    .transform((text) => text.trim());
}
