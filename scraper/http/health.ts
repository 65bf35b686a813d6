import type { Redact } from '../../lib/redaction/redact.ts';
import type { Problem } from '../../crds/config/load/problem.ts';
import type { SourceStatus } from '../status.ts';

/** What is known of one source. Times are ISO 8601; null: not yet. */
export interface SourceHealth {
  readonly name: string;
  /** When the last run began. */
  readonly last_scrape: string | null;
  readonly last_success: string | null;
  /** Everything before this time was exported. */
  readonly watermark: string | null;
  /** Number of records of the last scrape. */
  readonly records: number | null;
  readonly last_error: string | null;
  /** Whether this pod runs it. */
  readonly owner: boolean;
  readonly paused: boolean;
  readonly open_windows: number;
  /** Dead-letter windows: given up after too many attempts. */
  readonly dead_windows: number;
}

export interface HealthObject {
  readonly status: 'ok' | 'degraded';
  readonly version: string;
  /** Of the configuration that is in use. */
  readonly config_hash: string;
  /** Why the configuration file as it is now is not in use. */
  readonly config_error?: string;
  /** What is wrong with sources that are left out, with `--keep-going`. */
  readonly left_out?: readonly string[];
  /** Whether files of referenced Secrets or ConfigMaps differ from those at the start. */
  readonly references?: { readonly changed: boolean };
  readonly sources: readonly SourceHealth[];
}

/** Puts the parts together; `degraded` when the file cannot be used or a source fails. */
export function healthObject(parts: {
  readonly version: string;
  readonly configHash: string;
  readonly configError: string | undefined;
  readonly leftOut?: readonly Problem[] | undefined;
  readonly referencesChanged: boolean | undefined;
  readonly sources: readonly SourceHealth[];
}): HealthObject {
  const { version, configHash, configError, leftOut = [], referencesChanged, sources } = parts;
  const isFine =
    configError === undefined && leftOut.length === 0 && sources.every((source) => source.last_error === null);
  return {
    status: isFine ? 'ok' : 'degraded',
    version,
    config_hash: configHash,
    ...(configError === undefined ? {} : { config_error: configError }),
    ...(leftOut.length === 0 ? {} : { left_out: leftOut.map(({ path, message }) => `${path} ${message}`) }),
    ...(referencesChanged === undefined ? {} : { references: { changed: referencesChanged } }),
    sources,
  };
}

/** @param redact writes hosts in errors as the configuration does */
export const sourceHealth = (status: SourceStatus, redact: Redact): SourceHealth => ({
  name: status.name,
  last_scrape: status.lastRun?.toISOString() ?? null,
  last_success: status.lastSuccess?.toISOString() ?? null,
  watermark: status.watermark?.toISOString() ?? null,
  records: status.records ?? null,
  last_error: redactedOrNull(status.unusable ?? status.lastError, redact),
  owner: status.owner,
  paused: status.paused,
  open_windows: status.openWindows,
  dead_windows: status.deadWindows,
});

const redactedOrNull = (error: string | undefined, redact: Redact): string | null =>
  error === undefined ? null : redact(error);
