/** The times that a cron expression names, in UTC. */
export interface CronTimes {
  /** The first of them after this time; undefined when there is none, such as on 30 February. */
  next(after: Date): Date | undefined;
}

interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const MINUTE: Field = { min: 0, max: 59, names: [] };
const HOUR: Field = { min: 0, max: 23, names: [] };
const DAY: Field = { min: 1, max: 31, names: [] };
const MONTH: Field = {
  min: 1,
  max: 12,
  names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
};
const WEEKDAY: Field = { min: 0, max: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] };

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** 29 February can be eight years away, around 2100. */
const DAYS_AHEAD = 366 * 9;

/** @param text a cron expression that the configuration has let pass */
export function cronTimes(text: string): CronTimes {
  const [minute = '*', hour = '*', day = '*', month = '*', weekday = '*'] = text.trim().split(/\s+/);
  const minutes = valuesOf(minute, MINUTE);
  const hours = valuesOf(hour, HOUR);
  const days = new Set(valuesOf(day, DAY));
  const months = new Set(valuesOf(month, MONTH));
  const weekdays = new Set(valuesOf(weekday, WEEKDAY).map((value) => value % 7));
  // As cron has it: when both are restricted, either is enough.
  const either = !day.startsWith('*') && !weekday.startsWith('*');
  const isDay = (date: Date): boolean => {
    if (!months.has(date.getUTCMonth() + 1)) return false;
    const [inMonth, inWeek] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    return either ? inMonth || inWeek : inMonth && inWeek;
  };
  const timesOfDay = hours.flatMap((hour) => minutes.map((minute) => (hour * 60 + minute) * MINUTE_MS));

  return {
    next(after) {
      const today = Math.floor(after.getTime() / DAY_MS) * DAY_MS;
      for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1) {
        const midnight = today + ahead * DAY_MS;
        if (!isDay(new Date(midnight))) continue;
        const time = timesOfDay.find((time) => midnight + time > after.getTime());
        if (time !== undefined) return new Date(midnight + time);
      }
      return undefined;
    },
  };
}

/** Ascending, without repetitions. */
function valuesOf(field: string, { min, max, names }: Field): number[] {
  const valueOf = (word: string): number => {
    const named = names.indexOf(word.toLowerCase());
    return named >= 0 ? named + min : Number(word);
  };
  const values = field.split(',').flatMap((part) => {
    const [range = '*', step] = part.split('/');
    const [first = '', last] = range.split('-');
    const from = first === '*' ? min : valueOf(first);
    // `5/10` begins at 5 and goes on to the end; `5` alone is one value.
    const to = last === undefined ? (first === '*' || step !== undefined ? max : from) : valueOf(last);
    const by = step === undefined ? 1 : Number(step);
    return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by);
  });
  return [...new Set(values)].sort((a, b) => a - b);
}
