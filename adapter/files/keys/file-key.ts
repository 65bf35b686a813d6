import type { FileKind } from '../../state/file-records.ts';

/** Where a file lies under `storage.root` (see storage-layout.ts). A FileRecord is one. */
export interface FileKey {
  /** Without it, the file lies where those of all servers lie together. */
  readonly serverId?: string | undefined;
  readonly kind: FileKind;
  readonly sessionId: string;
  readonly fileId: string;
  readonly filename: string;
  /** The folder in the file's own that holds a version of an edited file; without it, the file's own folder does. */
  readonly contentId?: string | undefined;
}

/** A file that is open for reading and was checked on the opened descriptor: regular, one link, where it should be. */
export interface OpenedFile extends AsyncDisposable {
  readonly path: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** Which file it is, and in what state: `id` is another one after each change of it. */
  readonly version: FileVersion;
  /**
   * The bytes from `start` up to and including `end`; all by default. Can be read more than once. Never gives more than
   * `size` bytes; fails with FileRefused `changed` when the file has become shorter. `reused`: all chunks share their
   * memory, and each is over when the next is asked for.
   */
  read(range?: { start?: number; end?: number; reused?: boolean; signal?: AbortSignal }): AsyncIterable<Buffer>;
  /** Makes the bytes survive a crash of the machine, whoever wrote them. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface FileVersion {
  readonly id: string;
  /** When the file, its name or its mode was last changed (ctime), in milliseconds since the epoch. */
  readonly changedAt: number;
}

/**
 * A file that is being written next to its place; it appears there, synced to the disk, with `finish` only. With
 * `atomic_writes: false` it is written in its place, unsynced. Calls must not overlap.
 */
export interface FileWriter {
  write(chunk: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  /** Leaves nothing behind, also after a failed `write` or `finish`. Harmless after a `finish` that succeeded. */
  abort(): Promise<void>;
}

/** Why a file is not given out. The client learns no more than that it is not there. */
export class FileRefused extends Error {
  override readonly name = 'FileRefused';
  readonly reason: 'missing' | 'not_a_file' | 'linked' | 'outside' | 'too_large' | 'changed' | 'unreadable';

  constructor(reason: FileRefused['reason'], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

/** The disk fails: it is full (`ENOSPC`, `EDQUOT`), broken (`EIO`), not ours (`EACCES`, `EROFS`), … No client's fault. */
export class StorageFault extends Error {
  override readonly name = 'StorageFault';
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Whether the disk is full, or our part of it. */
export const isFull = (error: unknown): boolean =>
  error instanceof StorageFault && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
