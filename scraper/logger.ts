import { type DestinationStream, pino } from 'pino';
import { REDACTED } from '../crds/config/secret-names.ts';
import type { ScraperSettings } from '../crds/config/scraper.ts';

export type Logger = pino.Logger;

/** The configuration's words for pino's. */
const LEVELS = {
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  critical: 'fatal',
} as const;

/** Shorter values occur by chance in ordinary text. */
const MIN_SECRET_CHARS = 4;

/**
 * JSON lines on standard output, each with the time and the level by name. No line holds one of the secrets, which are
 * asked for anew for each line, because a new configuration brings new ones. Longest first.
 */
export function createLogger(
  level: ScraperSettings['logLevel'],
  secrets: () => readonly string[],
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
): Logger {
  return pino(
    {
      level: LEVELS[level],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label === 'warn' ? 'warning' : label === 'fatal' ? 'critical' : label }),
      },
    },
    // In the finished line, so that nothing gets past. There, texts are as JSON writes them.
    { write: (line) => destination.write(secrets().reduce(without, line)) },
  );
}

function without(line: string, secret: string): string {
  if (secret.length < MIN_SECRET_CHARS) return line;
  return line.replaceAll(JSON.stringify(secret).slice(1, -1), REDACTED);
}
