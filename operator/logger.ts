import { type DestinationStream, pino } from 'pino';
import { createRedaction } from '../lib/redaction/redact.ts';
import { escapeLine } from '../lib/redaction/escape-line.ts';
import type { Options } from './options.ts';

export type Logger = pino.Logger;

/**
 * JSON lines on standard output, each with the time and the level by name. Of an error only its name, message and code:
 * API errors may carry whole objects. What looks like a credential is taken out of all of it.
 */
export function createLogger(
  level: Options['logLevel'],
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
): Logger {
  const { text, value } = createRedaction();
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) =>
          value('err' in fields ? { ...fields, err: readable(fields['err']) } : fields) as Record<string, unknown>,
      },
      serializers: { err: (error: unknown) => error },
      hooks: {
        logMethod(args, method) {
          const [first]: unknown[] = args;
          // The message of an error that stands alone would become that of the line.
          const all = first instanceof Error && args.length === 1 ? [first, first.message] : args;
          const safe = all.map((arg: unknown) => (typeof arg === 'string' ? text(arg) : arg));
          method.apply(this, safe as Parameters<typeof method>);
        },
      },
    },
    { write: (line) => destination.write(escapeLine(line)) },
  );
}

function readable(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {};
  // Where it happened matters only for what nobody expected.
  const stack = error instanceof TypeError || error instanceof RangeError ? { stack: error.stack } : {};
  return { name: error.name, message: error.message, ...(code === undefined ? {} : { code }), ...cause, ...stack };
}
