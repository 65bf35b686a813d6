import { type DestinationStream, pino } from 'pino';
import type { ScraperSettings } from '../crds/config/scraper-file/scraper.ts';
import type { Redact } from '../lib/redaction/redact.ts';
import { createScrubber } from '../lib/redaction/scrubber.ts';
import { escapeLine } from '../lib/redaction/escape-line.ts';

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
 * asked for anew for each line, because a new configuration brings new ones: the same list while nothing has changed.
 * @param redact what else is done to each line
 */
export function createLogger(
  level: ScraperSettings['logLevel'],
  secrets: () => readonly string[],
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
  redact: Redact = (line) => line,
): Logger {
  const without = scrubbing();
  return pino(
    {
      level: LEVELS[level],
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label === 'warn' ? 'warning' : label === 'fatal' ? 'critical' : label }),
      },
    },
    // In the finished line, so that nothing gets past.
    { write: (line) => destination.write(escapeLine(redact(without(secrets(), line)))) },
  );
}

/** Remembers what it has made of the last list of secrets, which seldom becomes another. */
function scrubbing(): (secrets: readonly string[], line: string) => string {
  let known: readonly string[] = [];
  let scrub = createScrubber(known, MIN_SECRET_CHARS);
  return (secrets, line) => {
    if (secrets !== known) {
      known = secrets;
      const longEnough = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS);
      // In a line, texts are as JSON writes them.
      scrub = createScrubber(
        longEnough.map((secret) => JSON.stringify(secret).slice(1, -1)),
        MIN_SECRET_CHARS,
      );
    }
    return scrub(line);
  };
}
