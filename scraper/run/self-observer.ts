import type { SelfTelemetry } from '../output/self-telemetry.ts';
import type { RunObserver } from './run-observer.ts';

/** Counts in metrics what becomes of runs and windows. */
export function selfObserver(telemetry: SelfTelemetry): RunObserver {
  return {
    ran({ source, isRange }, { status, started, ended, records, unchanged }) {
      const apiType = isRange ? 'range' : 'instant';
      telemetry.ran({
        source: source.name,
        status: status === 'error' ? 'error' : 'success',
        apiType,
        durationSeconds: ((ended ?? started).getTime() - started.getTime()) / 1000,
        records,
      });
      telemetry.deduped({ source: source.name, apiType, hits: unchanged, misses: records });
    },
    failed(source, { kind, isCollectors }, isDead) {
      telemetry.count('scraper_windows_failed_total', { source, kind });
      if (isDead) telemetry.count('scraper_windows_dead_total', { source, kind });
      if (isCollectors || kind === 'export_refused') telemetry.count('scraper_export_failures_total', { source, kind });
    },
    repeated(source, records) {
      telemetry.count('scraper_windows_repeated_total', { source });
      telemetry.count('scraper_records_maybe_repeated_total', { source }, records);
    },
    leftOut: (source, records) => telemetry.count('scraper_records_left_out_total', { source }, records),
    notCaughtUp: (source, ms) => telemetry.count('scraper_catch_up_skipped_seconds_total', { source }, ms / 1000),
    skipped: (source) => telemetry.count('scraper_runs_skipped_total', { source }),
    stateFailed: () => telemetry.count('scraper_state_failures_total', {}),
  };
}
