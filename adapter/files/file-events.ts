import type { ErrorCode } from '../errors.ts';
import type { FileKind, FileRecord } from '../state/file-records.ts';

/** What happens to files, for status and metrics. Nothing here may fail or wait. */
export interface FileEvents {
  /** An upload was committed. */
  uploaded(file: FileRecord): void;
  /** An artifact was committed. */
  captured(file: FileRecord): void;
  /** A file was read over HTTP or MCP; `bytes` is what was sent, which is less for a range. */
  downloaded(file: FileRecord, bytes: number): void;
  removed(kind: FileKind, reason: RemovalReason, count: number, bytes: number): void;
  /** An upload, a capture or a download was refused. */
  refused(code: ErrorCode): void;
}

/**
 * `failed`: it never became whole; `orphan`: bytes without a record; `dangling`: a record without bytes;
 * `session_ended`: with its session.
 */
export type RemovalReason = 'expired' | 'evicted' | 'session_ended' | 'failed' | 'orphan' | 'dangling';

export const noFileEvents: FileEvents = {
  uploaded: () => undefined,
  captured: () => undefined,
  downloaded: () => undefined,
  removed: () => undefined,
  refused: () => undefined,
};
