import type { FileKind } from '../state/file-records.ts';

/** Where a file lies under `storage.root`: `{kind}s/sessions/{sessionId}/{fileId}/{filename}`. A FileRecord is one. */
export interface FilePlace {
  readonly kind: FileKind;
  readonly sessionId: string;
  readonly fileId: string;
  readonly filename: string;
}

/** A file that is open for reading and was checked on the opened descriptor: regular, one link, where it should be. */
export interface OpenedFile extends AsyncDisposable {
  readonly path: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** The bytes from `start` up to and including `end`; all by default. Can be read more than once. */
  read(range?: { start?: number; end?: number; signal?: AbortSignal }): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** A file that is being written next to its place; it appears there, synced to the disk, with `finish` only. */
export interface FileWriter {
  write(chunk: Buffer): Promise<void>;
  finish(): Promise<void>;
  /** Leaves nothing behind, also after a failed `write` or `finish`. */
  abort(): Promise<void>;
}

/** Why a file is not given out. The client learns no more than that it is not there. */
export class FileRefused extends Error {
  override readonly name = 'FileRefused';
  readonly reason: 'missing' | 'not_a_file' | 'linked' | 'outside' | 'too_large' | 'changed';

  constructor(reason: FileRefused['reason'], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}
