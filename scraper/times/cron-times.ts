import { Cron } from 'croner';

/** The times that a cron expression names, in UTC. */
export interface CronTimes {
  /** The first of them after this time; undefined when there is none, such as on 30 February. */
  next(after: Date): Date | undefined;
}

/** @param text a cron expression that the configuration has let pass */
export function cronTimes(text: string): CronTimes {
  const [, , day = '*', , weekday = '*'] = text.trim().split(/\s+/);
  // As cron has it: when both are restricted, either is enough.
  const isEither = !day.startsWith('*') && !weekday.startsWith('*');
  const cron = new Cron(text.trim(), {
    timezone: 'UTC',
    mode: '5-part',
    sloppyRanges: true,
    domAndDow: !isEither,
    paused: true,
  });
  return { next: (after) => cron.nextRun(after) ?? undefined };
}
