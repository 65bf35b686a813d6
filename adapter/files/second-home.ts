import type { FileKind, FileRecord } from '../state/file-records.ts';

/** A second home for bytes, outside the shared folder (`storage.s3`). */
export interface SecondHome {
  /** Copies a file that lies at `path`. Ends with the signal. */
  put(file: FileRecord, path: string, signal?: AbortSignal): Promise<void>;
  /** A URL by which anybody can read the file for a while. */
  url(file: FileRecord, options: { expiresInSeconds: number; as: 'attachment' | 'inline' }): Promise<string>;
  /** Fails with FileRefused `missing` when the object is not there. */
  get(file: FileRecord, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /** Harmless for what is not there. */
  remove(files: readonly FileRecord[]): Promise<void>;
  items(signal: AbortSignal): AsyncIterable<{ kind: FileKind; sessionId: string; fileId: string; modifiedAt: number }>;
  close(): void;
}
