import { COMPOSITES, DAYS, isoYearStart, MONTHS, UNIX_UNITS, utcDay } from './calendar.ts';

const MS_NS = 1_000_000n;
const SECOND_NS = 1_000_000_000n;
const DAY_MS = 86_400_000;

/** `%`, flags, width, the modifiers of other locales, directive. */
const DIRECTIVE = /%(?<flags>[-_0^#]*)(?<width>\d*)(?:[EO](?=[a-zA-Z]))?(?<name>[a-zA-Z%])/g;

/** A directive's value, and how it is padded unless a flag says otherwise. */
interface Field {
  readonly value: string | number;
  readonly width?: number;
  readonly pad?: '0' | ' ';
}

/**
 * A time in UTC, in the pattern language of C and Python, glibc's extensions included; what is no directive stays as it
 * is. An empty pattern means ISO 8601 with microseconds, and `unix`, `unix_ms`, `unix_us` and `unix_ns` mean numbers.
 *
 * @param time nanoseconds since 1970, or a Date
 */
export function formatTime(time: Date | bigint, pattern: string): string {
  const nanoseconds = typeof time === 'bigint' ? time : BigInt(time.getTime()) * MS_NS;
  const unit = UNIX_UNITS.get(pattern);
  if (unit !== undefined) return String(floorDivide(nanoseconds, unit));
  const moment = {
    date: new Date(Number(floorDivide(nanoseconds, MS_NS))),
    seconds: floorDivide(nanoseconds, SECOND_NS),
    microseconds: Number(floorDivide(nanoseconds, 1000n) - floorDivide(nanoseconds, SECOND_NS) * MS_NS),
  };
  return write(moment, pattern === '' ? isoPattern(moment) : pattern);
}

interface Moment {
  readonly date: Date;
  /** Since 1970. */
  readonly seconds: bigint;
  /** Of the second. */
  readonly microseconds: number;
}

/** As Python writes it: no fraction where there is none. */
const isoPattern = ({ microseconds }: Moment): string => `%Y-%m-%dT%H:%M:%S${microseconds === 0 ? '' : '.%f'}+00:00`;

function write(moment: Moment, pattern: string): string {
  return pattern.replaceAll(DIRECTIVE, (whole: string, flags: string, width: string, name: string) => {
    // Python's own, which know no flags.
    if (name === 'f' || name === 'z' || name === 'Z') return flags + width === '' ? own(moment, name) : whole;
    const composite = COMPOSITES[name];
    const field = composite === undefined ? fieldOf(name, moment) : { value: write(moment, composite) };
    return field === undefined ? whole : padded(field, name, flags, Number(width));
  });
}

const own = ({ microseconds }: Moment, name: string): string =>
  name === 'f' ? String(microseconds).padStart(6, '0') : name === 'z' ? '+0000' : 'UTC';

function fieldOf(name: string, { date, seconds }: Moment): Field | undefined {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const [hours, weekday] = [date.getUTCHours(), date.getUTCDay()];
  const yearDay = Math.floor((date.getTime() - utcDay(year, 1, 1)) / DAY_MS);
  switch (name) {
    case 'a':
      return { value: (DAYS[weekday] ?? '').slice(0, 3) };
    case 'A':
      return { value: DAYS[weekday] ?? '' };
    case 'b':
    case 'h':
      return { value: (MONTHS[month] ?? '').slice(0, 3) };
    case 'B':
      return { value: MONTHS[month] ?? '' };
    case 'C':
      return two(Math.floor(year / 100));
    case 'd':
      return two(day);
    case 'e':
      return { ...two(day), pad: ' ' };
    case 'g':
      return two(isoWeek(date).year % 100);
    case 'G':
      return { value: isoWeek(date).year };
    case 'H':
      return two(hours);
    case 'I':
      return two(hours % 12 || 12);
    case 'j':
      return { value: yearDay + 1, width: 3 };
    case 'k':
      return { ...two(hours), pad: ' ' };
    case 'l':
      return { ...two(hours % 12 || 12), pad: ' ' };
    case 'm':
      return two(month + 1);
    case 'M':
      return two(date.getUTCMinutes());
    case 'n':
      return { value: '\n' };
    case 'p':
      return { value: hours < 12 ? 'AM' : 'PM' };
    case 'P':
      return { value: hours < 12 ? 'am' : 'pm' };
    case 's':
      return { value: String(seconds) };
    case 'S':
      return two(date.getUTCSeconds());
    case 't':
      return { value: '\t' };
    case 'u':
      return { value: weekday || 7 };
    case 'U':
      return two(Math.floor((yearDay + 7 - weekday) / 7));
    case 'V':
      return two(isoWeek(date).week);
    case 'w':
      return { value: weekday };
    case 'W':
      return two(Math.floor((yearDay + 7 - ((weekday + 6) % 7)) / 7));
    case 'y':
      return two(year % 100);
    case 'Y':
      return { value: year };
    case '%':
      return { value: '%' };
    default:
      return undefined;
  }
}

const two = (value: number): Field => ({ value, width: 2 });

function padded({ value, width = 0, pad = '0' }: Field, name: string, flags: string, wanted: number): string {
  const flag = /[-_0](?=[^-_0]*$)/.exec(flags)?.[0];
  const filler = flag === '_' ? ' ' : flag === '0' ? '0' : typeof value === 'number' ? pad : ' ';
  const text = String(value).padStart(Math.max(flag === '-' ? 0 : width, wanted), filler);
  if (flags.includes('#')) return name === 'p' ? text.toLowerCase() : text.toUpperCase();
  return flags.includes('^') ? text.toUpperCase() : text;
}

function isoWeek(date: Date): { year: number; week: number } {
  const year = date.getUTCFullYear();
  const starts = [year + 1, year, year - 1].map((candidate) => ({ candidate, start: isoYearStart(candidate) }));
  const { candidate, start } = starts.find(({ start }) => start <= date.getTime()) ?? { candidate: year, start: 0 };
  return { year: candidate, week: Math.floor((date.getTime() - start) / (7 * DAY_MS)) + 1 };
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}
