import { compileTimePattern, parseIsoTime } from '../times/strptime.ts';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { InvalidSetting } from './invalid-setting.ts';

/** The time that a value of a record stands for, in nanoseconds since 1970; undefined when it stands for none. */
export type RecordTime = (value: unknown) => bigint | undefined;

/** OTLP's times are unsigned and of 64 bits, and 0 means that there is none. */
const END = 2n ** 64n;

/**
 * Reads the values at `timestampKey` of a source. `timestampFormat` is a strptime pattern, or `unix`, `unix_ms`,
 * `unix_us` or `unix_ns`; with null, texts are ISO 8601, and numbers, also in texts, Unix time in seconds. A time without
 * an offset is in UTC.
 *
 * @throws InvalidSetting when the pattern holds a directive that cannot be read
 */
export function compileRecordTime(format: string | null): RecordTime {
  const parse = format === null || format === '' ? isoOrUnix() : compilePattern(format);
  return (value) => {
    const text = textOf(value);
    const time = text === undefined ? undefined : parse(text);
    return time !== undefined && time > 0n && time < END ? time : undefined;
  };
}

function isoOrUnix(): (text: string) => bigint | undefined {
  const unix = compileTimePattern('unix');
  return (text) => parseIsoTime(text) ?? unix(text);
}

function compilePattern(format: string): (text: string) => bigint | undefined {
  try {
    return compileTimePattern(format);
  } catch (error) {
    throw new InvalidSetting('timestampFormat', error instanceof Error ? error.message : String(error));
  }
}

/** All digits of a number, without an exponent where a time can be meant. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (!(value instanceof ExactNumber)) return undefined;
  return /[eE]/.test(value.text) ? String(value.value) : value.text;
}
