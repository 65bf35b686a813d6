import type { FileDiscard } from '../../sessions/session-files.ts';
import type { FileRecord, FileRecords } from '../../state/file-records.ts';

export interface FileTimes {
  /** Milliseconds after the last use; null: as long as the session. */
  readonly uploadTtlMs: number | null;
  readonly artifactTtlMs: number | null;
}

export interface ExpiryDeps {
  readonly records: Pick<FileRecords, 'expire' | 'purgeAbandoned'>;
  readonly bytes: Pick<FileDiscard, 'discard'>;
  /** False while the store is unavailable or replaced by memory, which has not seen what others did with a file. */
  readonly usable?: () => boolean;
}

/** One step of SQLite holds up everybody else: 200 files took it 10 ms and more, 50 few. */
const BATCH = 50;
const SESSIONS_PER_BATCH = 10;

/**
 * Removes files whose time is over, uploads and captures that nobody finished, and the files of sessions that are
 * gone: a DELETE that a crash interrupted, a session that Redis has forgotten. Returns what was removed.
 */
export async function expireFiles(
  { records, bytes, usable = () => true }: ExpiryDeps,
  times: FileTimes,
  now: () => number,
  signal: AbortSignal,
): Promise<RemovedFiles> {
  const removed = { uploads: 0, artifacts: 0 };
  while (!signal.aborted && usable()) {
    const { uploadTtlMs, artifactTtlMs } = times;
    const batch = await records.expire({ now: now(), uploadTtlMs, artifactTtlMs, limit: BATCH });
    if (batch.length === 0 || !usable()) break;
    const [committed, unfinished] = split(batch, (file) => file.state === 'committed');
    if (committed.length > 0) await bytes.discard(committed, 'expired', signal);
    if (unfinished.length > 0) await bytes.discard(unfinished, 'failed', signal);
    count(removed, batch);
  }
  while (!signal.aborted && usable()) {
    const batch = await records.purgeAbandoned({ now: now(), limit: SESSIONS_PER_BATCH });
    if (batch.length === 0 || !usable()) break;
    await bytes.discard(batch, 'session_ended', signal);
    count(removed, batch);
  }
  return removed;
}

export interface RemovedFiles {
  uploads: number;
  artifacts: number;
}

/** Adds files to a count of them by kind. */
export function count(removed: RemovedFiles, files: Iterable<Pick<FileRecord, 'kind'>>): void {
  for (const { kind } of files) removed[`${kind}s`] += 1;
}

function split<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  const deps: [T[], T[]] = [[], []];
  for (const item of items) deps[isFirst(item) ? 0 : 1].push(item);
  return deps;
}
