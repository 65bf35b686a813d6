import { type DestinationStream, pino } from 'pino';
import type { Options } from './options.ts';

export type Logger = pino.Logger;

/**
 * JSON lines on standard output, each with the time and the level by name. Of an error only its name, message and code:
 * API errors may carry whole objects.
 */
export function createLogger(level: Options['logLevel'], destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: readable },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
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
