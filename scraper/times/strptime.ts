import { COMPOSITES, DAYS, isoYearStart, MONTHS, UNIX_UNITS, utcDay } from './calendar.ts';

const SECOND_NS = 1_000_000_000n;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const anyOf = (names: readonly string[]): string => names.join('|');
const short = (name: string): string => name.slice(0, 3);

/** What each directive takes, as in Python. Seconds since 1970 (`%s`) and nanoseconds in `%f` are additions. */
const PATTERNS: Readonly<Record<string, string>> = {
  a: anyOf(DAYS.map(short)),
  A: anyOf(DAYS),
  b: anyOf(MONTHS.map(short)),
  B: anyOf(MONTHS),
  d: String.raw`3[01]|[12]\d|0[1-9]|[1-9]| [1-9]`,
  f: String.raw`\d{1,9}`,
  G: String.raw`\d{4}`,
  H: String.raw`2[0-3]|[01]\d|\d| \d`,
  I: '1[0-2]|0[1-9]|[1-9]| [1-9]',
  j: String.raw`36[0-6]|3[0-5]\d|[12]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]`,
  m: '1[0-2]|0[1-9]|[1-9]',
  M: String.raw`[0-5]\d|\d`,
  p: 'AM|PM',
  s: String.raw`-?\d{1,15}`,
  S: String.raw`[0-5]\d|\d`,
  u: '[1-7]',
  U: String.raw`5[0-3]|[0-4]\d|\d`,
  V: String.raw`5[0-3]|0[1-9]|[1-4]\d|\d`,
  w: '[0-6]',
  W: String.raw`5[0-3]|[0-4]\d|\d`,
  y: String.raw`\d\d`,
  Y: String.raw`\d{4}`,
  z: String.raw`[+-]\d\d:?[0-5]\d(?::?[0-5]\d)?|Z`,
  Z: 'UTC|GMT',
};
/** Other names of the same. */
const SAME: Readonly<Record<string, string>> = { e: 'd', h: 'b', k: 'H', l: 'I', P: 'p' };

const TOKEN = /%[-_0^#]*(?:[EO](?=[a-zA-Z]))?(?<name>[a-zA-Z%])|(?<space>\s+)|(?<literal>[^%\s]+|%)/g;

type Fields = Readonly<Record<string, string | undefined>>;

/**
 * A reader of times in the pattern language of C and Python; without an offset they are in UTC. `unix`, `unix_ms`,
 * `unix_us` and `unix_ns` read numbers, and an empty pattern ISO 8601. It returns nanoseconds since 1970, and undefined
 * for a text that does not fit.
 *
 * @throws Error when the pattern holds a directive that cannot be read, or one twice
 */
export function compileTimePattern(pattern: string): (text: string) => bigint | undefined {
  const unit = UNIX_UNITS.get(pattern);
  if (unit !== undefined) return (text) => parseNumber(text, unit);
  if (pattern === '') return parseIsoTime;
  const used = new Set<string>();
  const shape = new RegExp(`^${sourceOf(pattern, used)}$`, 'i');
  return (text) => {
    const fields = shape.exec(text)?.groups;
    return fields === undefined ? undefined : timeOf(fields);
  };
}

function sourceOf(pattern: string, used: Set<string>): string {
  return pattern.replaceAll(TOKEN, (token: string, name?: string, space?: string, literal?: string) => {
    if (space !== undefined || name === 'n' || name === 't') return String.raw`\s+`;
    if (literal !== undefined) return literal.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
    if (name === '%' || name === undefined) return '%';
    const composite = COMPOSITES[name];
    if (composite !== undefined) return sourceOf(composite, used);
    const directive = SAME[name] ?? name;
    const source = PATTERNS[directive];
    if (source === undefined) throw new Error(`${token} cannot be read`);
    if (used.has(directive)) throw new Error(`${token} stands twice in the pattern`);
    used.add(directive);
    return `(?<${directive}>${source})`;
  });
}

function timeOf(fields: Fields): bigint | undefined {
  const nanoseconds = fields['f'] === undefined ? 0n : BigInt(fields['f'].padEnd(9, '0'));
  if (fields['s'] !== undefined) return BigInt(fields['s']) * SECOND_NS + nanoseconds;
  const day = dayOf(fields);
  const offset = offsetOf(fields['z']);
  if (day === undefined) return undefined;
  const clock = hoursOf(fields) * 60 * MINUTE_MS + number(fields['M']) * MINUTE_MS + number(fields['S']) * 1000;
  return BigInt(day + clock - offset) * 1_000_000n + nanoseconds;
}

/** The start of the day, in milliseconds. */
function dayOf(fields: Fields): number | undefined {
  const weekday = weekdayOf(fields);
  if (fields['G'] !== undefined && fields['V'] !== undefined && weekday !== undefined) {
    return isoYearStart(number(fields['G'])) + ((number(fields['V']) - 1) * 7 + ((weekday + 6) % 7)) * DAY_MS;
  }
  const year = yearOf(fields);
  if (fields['j'] !== undefined) {
    const day = utcDay(year, 1, number(fields['j']));
    return new Date(day).getUTCFullYear() === year ? day : undefined;
  }
  const monday = fields['W'] !== undefined;
  const week = fields['W'] ?? fields['U'];
  if (week !== undefined && weekday !== undefined) {
    const start = utcDay(year, 1, 1);
    const [first, wanted] = [new Date(start).getUTCDay(), weekday].map((day) => (monday ? (day + 6) % 7 : day));
    // Days before the first Monday or Sunday are in week 0.
    const toWeekOne = (7 - (first ?? 0)) % 7;
    return start + (toWeekOne + (number(week) - 1) * 7 + (wanted ?? 0)) * DAY_MS;
  }
  const [month, day] = [monthOf(fields), number(fields['d'] ?? '1')];
  const found = utcDay(year, month, day);
  return new Date(found).getUTCDate() === day ? found : undefined;
}

function yearOf(fields: Fields): number {
  if (fields['Y'] !== undefined) return number(fields['Y']);
  if (fields['y'] === undefined) return 1900;
  const short = number(fields['y']);
  return short < 69 ? 2000 + short : 1900 + short;
}

function monthOf(fields: Fields): number {
  const name = (fields['b'] ?? fields['B'])?.slice(0, 3).toLowerCase();
  if (name === undefined) return number(fields['m'] ?? '1');
  return MONTHS.findIndex((month) => month.slice(0, 3).toLowerCase() === name) + 1;
}

/** From Sunday, 0. */
function weekdayOf(fields: Fields): number | undefined {
  const name = (fields['a'] ?? fields['A'])?.slice(0, 3).toLowerCase();
  if (name !== undefined) return DAYS.findIndex((day) => day.slice(0, 3).toLowerCase() === name);
  const digit = fields['w'] ?? fields['u'];
  return digit === undefined ? undefined : number(digit) % 7;
}

function hoursOf(fields: Fields): number {
  if (fields['H'] !== undefined) return number(fields['H']);
  return (number(fields['I']) % 12) + (fields['p']?.toLowerCase() === 'pm' ? 12 : 0);
}

function offsetOf(text: string | undefined): number {
  if (text === undefined || text.toUpperCase() === 'Z') return 0;
  const digits = text.replaceAll(/\D/g, '').padEnd(6, '0');
  const [hours = 0, minutes = 0, seconds = 0] = [0, 2, 4].map((at) => Number(digits.slice(at, at + 2)));
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 * MINUTE_MS + minutes * MINUTE_MS + seconds * 1000);
}

const number = (text: string | undefined): number => (text === undefined ? 0 : Number(text));

const DECIMAL = /^\s*(?<sign>[+-]?)(?<whole>\d{1,20})(?:\.(?<fraction>\d*))?\s*$/;

function parseNumber(text: string, unit: bigint): bigint | undefined {
  const { sign, whole, fraction = '' } = DECIMAL.exec(text)?.groups ?? {};
  if (whole === undefined) return undefined;
  const part = (BigInt(fraction.slice(0, 9).padEnd(9, '0')) * unit) / SECOND_NS;
  const value = BigInt(whole) * unit + part;
  return sign === '-' ? -value : value;
}

const ISO =
  /^\s*(?<Y>\d{4})-?(?<m>\d\d)-?(?<d>\d\d)(?:[T ](?<H>[01]\d|2[0-3]):?(?<M>[0-5]\d)(?::?(?<S>[0-5]\d)(?:[.,](?<f>\d{1,9})\d*)?)?\s*(?<z>Z|[+-]\d\d(?::?[0-5]\d)?)?)?\s*$/i;

/**
 * A time as ISO 8601 and RFC 3339 write it: a date, or a date and a time, in UTC unless there is an offset. Nanoseconds
 * since 1970; undefined for anything else.
 */
export function parseIsoTime(text: string): bigint | undefined {
  const usual = parseUsualTime(text);
  if (usual !== undefined) return usual;
  const fields = ISO.exec(text)?.groups;
  if (fields === undefined) return undefined;
  return Number(fields['m']) >= 1 && Number(fields['m']) <= 12 ? timeOf(fields) : undefined;
}

const [ZERO, DASH, DOT, COLON, LETTER_T, LETTER_Z] = [0x30, 0x2d, 0x2e, 0x3a, 0x54, 0x5a];

/**
 * `2025-11-28T10:15:00.123Z`, with any fraction, digit by digit: every record has one of these, and the expression with
 * its groups takes ten times as long. Undefined for all that is written in another way, or is no time.
 */
function parseUsualTime(text: string): bigint | undefined {
  const separators = text.charCodeAt(4) === DASH && text.charCodeAt(7) === DASH && text.charCodeAt(10) === LETTER_T;
  if (!separators || text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON) return undefined;
  const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 7), digits(text, 8, 10)];
  const [hours, minutes, seconds] = [digits(text, 11, 13), digits(text, 14, 16), digits(text, 17, 19)];
  // Days that not every month has are left to the slower way; comparisons with NaN are false.
  if (!(year >= 100 && month >= 1 && month <= 12 && day >= 1 && day <= 28)) return undefined;
  if (!(hours <= 23 && minutes <= 59 && seconds <= 59)) return undefined;
  const last = text.length - 1;
  if (text.charCodeAt(last) !== LETTER_Z) return undefined;
  const milliseconds = Date.UTC(year, month - 1, day, hours, minutes, seconds);
  if (last === 19) return BigInt(milliseconds) * 1_000_000n;
  const fraction = digits(text, 20, last);
  if (text.charCodeAt(19) !== DOT || last < 21 || last > 29 || Number.isNaN(fraction)) return undefined;
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction * 10 ** (29 - last));
}

/** NaN when something else stands there, too. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}
