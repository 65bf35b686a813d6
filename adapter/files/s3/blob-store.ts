import type { FileRecord } from '../../state/file-records.ts';
import type { FileKey, OpenedFile } from '../keys/file-key.ts';

/**
 * Object storage for bytes, outside the shared folder (`storage.s3`). Every method fails with BlobStoreFailed when it
 * cannot do its work, and with the reason of the signal when that ends it.
 */
export interface BlobStore {
  /**
   * Copies a file that is open already, so that nobody can put another one in its place meanwhile. It is there as a
   * whole or not at all. Fails with FileRefused `changed` when the bytes are not those of the record.
   */
  put(file: FileRecord, source: Pick<OpenedFile, 'size' | 'read'>, signal?: AbortSignal): Promise<void>;
  /** A URL by which anybody can read the file for a while; at most a week. Does not look whether the file is there. */
  url(
    file: FileKey & Pick<FileRecord, 'mimeType'>,
    options: { expiresInSeconds: number; as: 'attachment' | 'inline' },
  ): Promise<string>;
  /** Fails with FileRefused `missing` when the file is not there, and while reading when it does not come whole. */
  get(file: FileKey, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>;
  has(file: FileKey, signal?: AbortSignal): Promise<boolean>;
  /** Harmless for what is not there. */
  remove(files: readonly FileKey[], signal?: AbortSignal): Promise<void>;
  /**
   * All files, in no order that counts, also those that a crash has left half sent, which `remove` of the same object
   * then forgets; what was not put here is left out. `modifiedAt` in milliseconds since the epoch.
   */
  items(signal: AbortSignal): AsyncIterable<FileKey & { readonly modifiedAt: number }>;
  /** Whether it can be used now: fails as everything else would. */
  check(signal?: AbortSignal): Promise<void>;
  close(): void;
}

/** Why object storage did not do what was asked. The message is for operators; it holds no secret. */
export class BlobStoreFailed extends Error {
  override readonly name = 'BlobStoreFailed';
  /** `refused`: credentials, rights or the name of the bucket are wrong; `unreachable`: it may work again by itself. */
  readonly reason: 'refused' | 'unreachable' | 'failed';

  constructor(reason: BlobStoreFailed['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
