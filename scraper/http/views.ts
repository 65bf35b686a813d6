import { formatDuration } from '../../crds/config/values/duration.ts';
import { redactedScraperConfig } from '../../crds/config/scraper-file/redact.ts';
import type { ScraperConfig, Source } from '../../crds/config/scraper-file/scraper.ts';
import type { LedgerWindow } from '../state/ledger.ts';
import type { RunRecord, SourceStatus } from '../status.ts';

/** How things look in answers of the admin API. Times are ISO 8601; null: not yet, or there is none. */

type Shown = Record<string, unknown>;

/** Keys in the original's order; what is new comes after them. */
const SOURCE_KEYS =
  `name frequency allowOverlapScans emitLogs auth scrape endpoint baseUrl dataKey filters deltaDetection
  gaugeReadings counterReadings histogramReadings attributes logStatusField runFirstScrape`.split(/\s+/);
const SCRAPE_KEYS = `type httpMethod timeFormat maxConcurrency parallelWindow rangeKeys urlEncodeTimeKeys extraHeaders
  extraArgs`.split(/\s+/);

/** The configuration in use, without secrets. */
export function configView(config: ScraperConfig): { readonly scraper: unknown; readonly sources: readonly Shown[] } {
  const { scraper, sources } = redactedScraperConfig(config);
  return { scraper, sources: (sources as Shown[]).map(ordered) };
}

/** One source of it, with every default. The secrets of the section `scraper` are looked for in it, too. */
export const sourceView = ({ scraper }: ScraperConfig, source: Source): Shown =>
  configView({ scraper, sources: [source] }).sources[0] ?? {};

const ordered = (source: Shown): Shown => ({
  ...first(SOURCE_KEYS, source),
  scrape: first(SCRAPE_KEYS, source['scrape'] as Shown),
});

const first = (keys: readonly string[], value: Shown): Shown => ({
  ...Object.fromEntries(keys.map((key) => [key, value[key]])),
  ...value,
});

/** A source in the list: name and frequency, as the original has it, and how it is. */
export const sourceLine = (source: Source, status: SourceStatus | undefined): Shown => ({
  name: source.name,
  frequency: source.frequency === null ? null : formatDuration(source.frequency),
  cron: source.cron,
  type: source.scrape.type,
  ...(status === undefined ? {} : statusView(status)),
});

export const statusView = (status: SourceStatus): Shown => ({
  owner: status.owner,
  running: status.running,
  paused: status.paused,
  last_run: timeText(status.lastRun),
  last_success: timeText(status.lastSuccess),
  watermark: timeText(status.watermark),
  next_run: timeText(status.nextRun),
  open_windows: status.openWindows,
  dead_windows: status.deadWindows,
  records: status.records ?? null,
  last_error: status.lastError ?? null,
  unusable: status.unusable ?? null,
});

export const runView = (run: RunRecord): Shown => ({
  trigger: run.trigger,
  status: run.status,
  started: timeText(run.started),
  ended: timeText(run.ended),
  windows: run.windows,
  failed: run.failed,
  records: run.records,
  unchanged: run.unchanged,
  errors: run.errors,
});

export const windowView = (window: LedgerWindow): Shown => ({
  id: window.id,
  kind: window.kind,
  state: window.state,
  start: timeText(window.start),
  end: timeText(window.end),
  attempts: window.attempts,
  at: timeText(window.at),
  error: window.error ?? null,
  may_repeat: window.mayRepeat,
});

const timeText = (time: Date | undefined): string | null => time?.toISOString() ?? null;
