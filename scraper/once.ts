import { pino } from 'pino';
import { withPlaceholders } from '../lib/redaction/hidden-places.ts';
import type { Environment } from '../lib/references/reference.ts';
import { scraperSecrets } from '../crds/config/scraper-file/redact.ts';
import type { LoadedConfig } from './config-file.ts';
import { createScraper } from './create-scraper.ts';
import { createLogger } from './logger.ts';
import type { RunRecord, SourceStatus, TriggerResult } from './status.ts';

export interface OnceOptions {
  readonly loaded: LoadedConfig;
  readonly env: Environment;
  readonly version: string;
  /** Ends it early; windows under way get their grace. */
  readonly signal: AbortSignal;
}

/** How long the state may take to open. */
const STATE_MS = 15_000;

/**
 * `--once`: every source plans what has passed since the last time and scrapes all windows that are due. A line for each
 * source, and whether everything was sent that there is to send. The log goes to standard error.
 */
export async function scrapeOnce({ loaded, env, version, signal }: OnceOptions): Promise<{
  readonly lines: readonly string[];
  readonly isFine: boolean;
}> {
  const { config } = loaded;
  let secrets = (): readonly string[] => scraperSecrets(config);
  const redact = withPlaceholders(loaded.places);
  const logger = createLogger(
    config.scraper.logLevel,
    () => secrets(),
    pino.destination({ fd: 2, sync: true }),
    redact,
  );
  for (const { path, message } of loaded.warnings) logger.warn({ path }, message);
  const scraper = await createScraper({ config, env, logger, version });
  secrets = () => scraper.secrets();
  signal.addEventListener('abort', () => void scraper.stop(), { once: true });
  const results = await scraper.runOnce(AbortSignal.any([signal, AbortSignal.timeout(STATE_MS)]));
  const problem = scraper.ready();
  const { dryRun } = config.scraper;
  const outcomes = scraper.sources().map((status) => {
    const result = results.get(status.name) ?? 'elsewhere';
    return outcomeOf(status, { result, run: scraper.runs(status.name)[0], problem, dryRun });
  });
  await scraper.stop();
  return { lines: outcomes.map(({ line }) => line), isFine: outcomes.every(({ isFine }) => isFine) };
}

interface Outcome {
  readonly line: string;
  readonly isFine: boolean;
}

interface Ran {
  readonly result: TriggerResult;
  readonly run: RunRecord | undefined;
  /** Why there is no state. */
  readonly problem: string | undefined;
  readonly dryRun: boolean;
}

/** For people; without secrets, because errors have none. */
function outcomeOf({ name, unusable, openWindows }: SourceStatus, { result, run, problem, dryRun }: Ran): Outcome {
  const fine = (text: string): Outcome => ({ line: `${name}: ${text}`, isFine: true });
  const bad = (text: string): Outcome => ({ line: `${name}: ${text}`, isFine: false });
  if (unusable !== undefined) return bad(`cannot run: ${unusable}`);
  if (result === 'paused') return fine('paused');
  if (run === undefined) return problem === undefined ? fine('left to another pod') : bad(`not scraped: ${problem}`);
  if (run.status === 'gated') return fine('first run, only the time is remembered (runFirstScrape is false)');
  const records = `${count(run.records, 'record')} of ${count(run.windows, 'window')}`;
  const sent = `${records} ${dryRun ? 'would be sent (dry run)' : 'sent'}`;
  if (run.status === 'error') {
    const failed = run.failed === 0 ? 'failed' : `${count(run.failed, 'window')} failed`;
    const also = run.windows === 0 ? '' : `, ${sent}`;
    return bad(`${failed}${also}: ${run.errors.at(-1) ?? 'see the log'}`);
  }
  if (openWindows > 0) return bad(`${sent}; ${count(openWindows, 'window')} still open, to be tried again later`);
  return fine(sent);
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
