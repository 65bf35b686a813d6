import { type DestinationStream, pino } from 'pino';

import { maskIds, type Redact, redactValue } from './redact.ts';

export type Logger = pino.Logger;

/** The configuration's words for pino's. */
const LEVELS = { debug: 'debug', info: 'info', warning: 'warn', error: 'error', critical: 'fatal' } as const;
export type LogLevel = keyof typeof LEVELS;
const NAMES = Object.fromEntries(Object.entries(LEVELS).map(([name, level]) => [level, name]));

/** JSON lines on standard output, each with the time and the level by name; everything in them is redacted, and no id is shown whole. */
export function createLogger(level: LogLevel, redact: Redact, destination?: DestinationStream): Logger {
  const safeText: Redact = (text) => maskIds(redact(text));
  return pino(
    {
      level: LEVELS[level],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: NAMES[label] ?? label }),
        log: (object) => redactValue(object, safeText) as Record<string, unknown>,
      },
      serializers: { err: (error: unknown) => error },
      hooks: {
        logMethod(args, method) {
          const [first]: unknown[] = args;
          // The message of an error that stands alone would become that of the line.
          const all = first instanceof Error && args.length === 1 ? [first, first.message] : args;
          const safe = all.map((arg: unknown) => (typeof arg === 'string' ? safeText(arg) : arg));
          method.apply(this, safe as Parameters<typeof method>);
        },
      },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  );
}

export function isInfoEnabled(logger: Logger): boolean {
  return logger.isLevelEnabled('info');
}

/** Enough of a session id to follow it through the log, too little to use it. */
export function shorten(sessionId: string): string {
  return sessionId.slice(0, 8);
}
