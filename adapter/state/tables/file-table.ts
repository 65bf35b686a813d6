import type { FileKey, FileKind, FilePage, FileRecord, FileTotals } from '../file-records.ts';
import type { SessionKey } from '../session-key.ts';

/** What a store keeps of a file. */
export interface StoredFile {
  readonly record: FileRecord;
  /** How many use the file until `leaseUntil`; the lease ends when the last of them releases it. */
  readonly uses: number;
}

/**
 * Where the records of files of a store that lives in this process are kept. The steps of `file-rules.ts` decide on
 * it; nothing else runs while one of them does. Only the table changes what it returned.
 */
export interface FileTable {
  get(key: FileKey): StoredFile | undefined;
  /** Adds a file, or changes the one with the same key. */
  put(file: StoredFile): void;
  delete(key: FileKey): void;

  /** All files of a session, pending ones too, in no order. */
  ofSession(session: SessionKey): StoredFile[];
  /** Of one session, or of all. */
  totals(session?: SessionKey): FileTotals;

  /** How many files of a kind a session has, pending ones too. */
  held(session: SessionKey, kind: FileKind): number;
  page(cursor: string | undefined, limit: number): FilePage;

  /** Up to `limit` committed files of a kind last used at `usedBefore` or earlier, without a lease after `now`. */
  unused(kind: FileKind, options: { usedBefore: number; now: number; limit: number }): StoredFile[];
  /** Up to `limit` pending files without a lease after `now`. */
  forsaken(options: { now: number; limit: number }): StoredFile[];
  /** Up to `limit` sessions with files that have been removed or invalidated. */
  abandoned(limit: number): SessionKey[];

  /** Which of these files have a record in any session with this id. */
  known(sessionId: string, fileIds: readonly string[]): Set<string>;
  clear(): void;
}

/** What the bytes of files add up to. */
export const totalBytes = (totals: FileTotals): number => totals.uploads.bytes + totals.artifacts.bytes;
