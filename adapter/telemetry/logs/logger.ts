import { type DestinationStream, pino } from 'pino';

import { maskIds, type Redaction } from '../../../lib/redaction/redact.ts';

/** Without children: what is bound to them would not be redacted. */
export type Logger = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'level' | 'isLevelEnabled'>;

/** The configuration's words for pino's. */
const LEVELS = { debug: 'debug', info: 'info', warning: 'warn', error: 'error', critical: 'fatal' } as const;
export type LogLevel = keyof typeof LEVELS;
const NAMES = Object.fromEntries(Object.entries(LEVELS).map(([name, level]) => [level, name]));
/** Of a trace (W3C Trace Context), which looks like the id of a session and opens nothing. */
const TRACE_ID = /^[0-9a-f]{32}$/;

/** JSON lines, each with the time and the level by name; everything in them is redacted, and no id is shown whole. */
export function createLogger(level: LogLevel, redaction: Redaction, destination: DestinationStream): Logger {
  const { text, value } = redaction.and(maskIds);
  const fieldsOf = (object: object): object => {
    const fields = value(object) as Record<string, unknown>;
    const { trace_id: traceId } = object as { trace_id?: unknown };
    if (typeof traceId === 'string' && TRACE_ID.test(traceId)) fields['trace_id'] = traceId;
    return fields;
  };
  const safe = (one: unknown): unknown => (typeof one === 'string' ? text(one) : value(one));
  return pino(
    {
      level: LEVELS[level],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: NAMES[label] ?? label }) },
      serializers: { err: (error: unknown) => error },
      hooks: {
        // Here and not in a formatter, so that line and message, and whoever else gets them, have the same safe values.
        logMethod(args, method) {
          const [first, ...rest]: unknown[] = args;
          const all =
            first instanceof Error
              ? [{ err: value(first) }, ...(rest.length === 0 ? [first.message] : rest).map(safe)]
              : [typeof first === 'object' && first !== null ? fieldsOf(first) : safe(first), ...rest.map(safe)];
          method.apply(this, all as Parameters<typeof method>);
        },
      },
    },
    destination,
  );
}

export function isInfoEnabled(logger: Logger): boolean {
  return logger.isLevelEnabled('info');
}

/** Enough of a session id to follow it through the log, too little to use it. */
export function shorten(sessionId: string): string {
  return sessionId.slice(0, 8);
}
