import { scraperSecrets } from '../../crds/config/scraper-file/redact.ts';
import type { ScraperConfig, Source } from '../../crds/config/scraper-file/scraper.ts';
import { Contribution } from '../output/contribution.ts';
import { show } from '../output/dry-run-emitter.ts';
import { type PreparedSource, prepareSource } from '../window/prepared-source.ts';
import { InvalidSetting } from '../records/invalid-setting.ts';
import { type FetchDependencies, pages } from '../requests/fetch-window.ts';
import type { HttpClient } from '../requests/http-client.ts';
import { HostRateLimiter, limitsOf, LocalCounter } from '../requests/rate-limit.ts';
import { TokenCache } from '../requests/token-cache.ts';
import { scheduleOf } from '../times/next-run-time.ts';
import type { SourceState, WindowRange } from '../state/ledger.ts';
import { readState, type StateReader } from '../state/read-state.ts';
import { reportOf } from '../window/window-failure.ts';
import { knownSource } from './known-source.ts';
import { nextWindow } from './next-window.ts';
import { readable } from './readable.ts';
import { Selection } from './selection.ts';
import { shownRequest, shownTokenRequest, watchedClient, type WatchedExchange } from './watched-client.ts';

export interface ExplainOptions {
  readonly config: ScraperConfig;
  /** Name of the source. */
  readonly name: string;
  /** Most records, and log records, that are shown. */
  readonly limit: number;
  readonly http: HttpClient;
  readonly now: () => Date;
}

export interface Explained {
  /** YAML, without secrets. */
  readonly text: string;
  /** Whether everything went as it would have to. */
  readonly isFine: boolean;
}

/** Pages that are fetched: enough to see that paging works. */
const MAX_PAGES = 3;
/** Most points that are shown for each record that is. */
const POINTS_PER_RECORD = 10;

/** The sections of the report, in this order. */
interface Report {
  source: string;
  state: string;
  window?: object;
  requests: WatchedExchange[];
  pages?: string;
  records?: object;
  metrics?: object;
  logs?: object;
  warnings?: string[];
  failure?: object;
}

interface Known {
  readonly reader: StateReader;
  readonly state: SourceState | undefined;
}

/**
 * Scrapes a source once and shows every step: the requests, what is found in the answers, and what would be emitted.
 * Nothing is sent to the collector, and the state is only looked at.
 *
 * @throws UnknownSource
 */
export async function explain(options: ExplainOptions, signal: AbortSignal): Promise<Explained> {
  const source = knownSource(options.config, options.name);
  const tokens = new TokenCache(() => performance.now());
  const secrets = (): string[] => [...scraperSecrets(options.config), ...tokens.secrets()];
  const { known, text: state } = await lookedUp(source, options.config);
  const report: Report = { source: source.name, state, requests: [] };
  try {
    await scrapedOnce(source, { ...options, tokens, secrets, known }, report, signal);
  } catch (error) {
    signal.throwIfAborted();
    report.failure = failureOf(error);
  } finally {
    tokens.close();
    await known?.reader.close();
  }
  return { text: readable(report, secrets()), isFine: report.failure === undefined };
}

/** What the state says about a source, and in words. */
async function lookedUp(source: Source, { scraper }: ScraperConfig): Promise<{ known?: Known; text: string }> {
  let reader: StateReader | undefined;
  try {
    reader = await readState(scraper.fingerprintStore);
    if (reader === undefined) return { text: 'there is none yet' };
    const state = await reader.source(source.name);
    return { known: { reader, state }, text: state === undefined ? 'it was never scraped' : stateText(state) };
  } catch (error) {
    await reader?.close();
    return { text: `cannot be read, so nothing counts as emitted before: ${messageOf(error)}` };
  }
}

function stateText({ plannedUntil, watermark, openWindows, deadWindows, paused }: SourceState): string {
  return [
    ...(paused ? ['paused'] : []),
    `planned up to ${plannedUntil?.toISOString() ?? 'nowhere'}`,
    `exported up to ${watermark?.toISOString() ?? 'nowhere'}`,
    `open windows: ${openWindows}, dead-letter windows: ${deadWindows}`,
  ].join('; ');
}

interface Parts extends ExplainOptions {
  readonly tokens: TokenCache;
  readonly secrets: () => readonly string[];
  readonly known: Known | undefined;
}

/** Fills the report as far as it comes. */
async function scrapedOnce(source: Source, parts: Parts, report: Report, signal: AbortSignal): Promise<void> {
  const { config, now, limit } = parts;
  const warn = (message: string): void => void (report.warnings ??= []).push(message);
  const { prepared, fetch } = preparedFor(source, parts, report.requests, warn);
  const window = await windowOf(prepared, parts, report);

  const selection = new Selection(prepared, parts.known?.reader, now());
  const contribution = new Contribution();
  const first: unknown[] = [];
  let count = 0;
  for await (const page of pages(source, window, fetch, signal)) {
    const records = await selection.take(page.records, page.body);
    const time = { observed: BigInt(now().getTime()) * 1_000_000n };
    prepared.addReadings(records, page.body, contribution, time);
    first.push(...records.slice(0, limit - first.length));
    count += 1;
    if (count < MAX_PAGES) continue;
    report.pages = `the first ${MAX_PAGES}; there may be more`;
    break;
  }
  report.records = { ...selection.counts(), first };
  const { metrics, logs } = show([contribution]);
  report.metrics = { points: metrics.length, first: metrics.slice(0, limit * POINTS_PER_RECORD) };
  report.logs = source.emitLogs ? { records: logs.length, first: logs.slice(0, limit) } : { records: 0 };
  if (!config.scraper.dryRun) return;
  warn('dryRun is on: the scraper would log this and send nothing');
}

function preparedFor(
  source: Source,
  { config, http, now, tokens, secrets }: Parts,
  requests: WatchedExchange[],
  warn: (message: string) => void,
): { prepared: PreparedSource; fetch: FetchDependencies } {
  const watch = { seen: (exchange: WatchedExchange) => void requests.push(exchange), clock: () => performance.now() };
  const settings = config.scraper;
  const forTokens = watchedClient(http, { ...watch, show: shownTokenRequest });
  const prepared = prepareSource(source, { settings, http: forTokens, tokens, now, warn });
  const fetch = {
    settings,
    http: watchedClient(http, { ...watch, show: shownRequest }),
    auth: prepared.auth,
    // Counted here only: the count that pods share is theirs.
    rateLimiter: new HostRateLimiter(limitsOf([source]), new LocalCounter()),
    parse: prepared.parse,
    records: prepared.records,
    secrets,
    now,
  };
  return { prepared, fetch };
}

/** The window that is asked for; undefined: the source has only a present. */
async function windowOf(
  prepared: PreparedSource,
  { known, now }: Parts,
  report: Report,
): Promise<WindowRange | undefined> {
  if (!prepared.isRange) return undefined;
  const period = scheduleOf(prepared.source, now()).period(now());
  const { window, why } = await nextWindow(prepared, known, now(), period);
  report.window = { start: window.start, end: window.end, why };
  return window;
}

function failureOf(error: unknown): object {
  if (error instanceof InvalidSetting) return { kind: 'setting', path: error.path, message: error.message };
  const { kind, status, message } = reportOf(error);
  return { kind, status, message };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
