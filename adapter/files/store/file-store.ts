import { createHash } from 'node:crypto';
import { sideBySide } from '../../../lib/side-by-side.ts';
import { type FileKind, type FileRecord, type FileRecords, versionsOf } from '../../state/file-records.ts';
import type { RemovalReason, Telemetry } from '../../telemetry/telemetry.ts';
import { ContentChecks } from './content-checks.ts';
import type { StagingArea } from '../disk/staging-area.ts';
import { type FileKey, FileRefused, type FileWriter, type OpenedFile } from '../keys/file-key.ts';
import type { BlobStore } from '../s3/blob-store.ts';

export interface FileStoreOptions {
  readonly stage: StagingArea;
  /** `storage.s3`; undefined when it is off. */
  readonly blobStore?: BlobStore;
  /** How long object storage may take to remove files, in milliseconds. Default: 60 s. */
  readonly blobTimeoutMs?: number;
  readonly records: Pick<FileRecords, 'known'>;
  readonly telemetry: Pick<Telemetry, 'filesRemoved'>;
  /** What was not removed, and why; for the log. */
  readonly onError: (message: string, error: unknown) => void;
}

/** Node does everybody's work on files with four threads: more would be no faster, and keep others waiting. */
const REMOVED_AT_A_TIME = 2;
const BLOB_STORE_TIMEOUT_MS = 60_000;
/** How long nothing is removed there after it did not answer; copies that stay have no record and are orphans. */
const BLOB_STORE_REST_MS = 60_000;

/** The bytes of files, in the shared folder and in object storage where there is one. Their records are elsewhere. */
export class FileStore {
  readonly stage: StagingArea;
  readonly #blobStore: BlobStore | undefined;
  readonly #options: FileStoreOptions;
  readonly #blobTimeoutMs: number;
  readonly #checks = new ContentChecks();
  /** By `performance.now`. */
  #blobRestsUntil = 0;

  constructor(options: FileStoreOptions) {
    this.#options = options;
    this.stage = options.stage;
    this.#blobStore = options.blobStore;
    this.#blobTimeoutMs = options.blobTimeoutMs ?? BLOB_STORE_TIMEOUT_MS;
  }

  create(place: FileKey): Promise<FileWriter> {
    return this.stage.create(place);
  }

  /** Copies a finished file to object storage. Must come before its record is committed: from then on it is there. */
  async secure(file: FileRecord, signal?: AbortSignal): Promise<void> {
    if (this.#blobStore === undefined) return;
    await using opened = await this.stage.open(file);
    await this.#blobStore.put(file, opened, signal);
  }

  /**
   * Opens a committed file; one that is not in the shared folder is fetched from object storage first. Fails with
   * FileRefused `changed` when it is not what its record says.
   */
  async open(file: FileRecord, signal?: AbortSignal): Promise<OpenedFile> {
    const opened = await this.#opened(file, signal);
    try {
      await this.#checks.check(file, opened, signal);
      return opened;
    } catch (error) {
      await opened.close();
      if (error instanceof FileRefused) this.#options.onError('a stored file was changed and is not given out', error);
      throw error;
    }
  }

  /**
   * Writes a committed file to another place, and looks at its bytes on the way. Fails as `open` does; then nothing is left of
   * the copy.
   */
  async copy(
    file: FileRecord,
    place: FileKey,
    { atomic, signal }: { readonly atomic: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    await using source = await this.#opened(file, signal);
    const hash = this.#checks.knows(file, source) ? undefined : createHash('sha256');
    const writer = await this.stage.create(place, { atomic });
    try {
      for await (const chunk of source.read({ reused: true, signal })) {
        const written = writer.write(chunk);
        // While others write.
        hash?.update(chunk);
        await written;
      }
      const isIt = hash === undefined || (source.size === file.sizeBytes && hash.digest('hex') === file.sha256);
      if (!isIt) {
        const refused = new FileRefused('changed', `${file.kind} ${file.fileId} is not what was stored`);
        this.#options.onError('a stored file was changed and is not given out', refused);
        throw refused;
      }
      await writer.finish();
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }

  async #opened(file: FileRecord, signal?: AbortSignal): Promise<OpenedFile> {
    try {
      return await this.stage.open(file);
    } catch (error) {
      const missing = error instanceof FileRefused && error.reason === 'missing';
      if (!missing || this.#blobStore === undefined) throw error;
    }
    await this.#fetch(this.#blobStore, file, signal);
    return this.stage.open(file);
  }

  /** A URL of object storage by which anybody can read the file; undefined without one. */
  async url(
    file: FileKey & Pick<FileRecord, 'mimeType'>,
    options: { expiresInSeconds: number; as: 'attachment' | 'inline' },
  ): Promise<string | undefined> {
    return this.#blobStore?.url(file, options);
  }

  /**
   * Removes the bytes of files whose records are gone. Never fails, and goes on with the others: what could not be
   * removed has no record and is an orphan. `signal` ends only the waiting for object storage.
   */
  async discard(files: readonly FileRecord[], reason: RemovalReason, signal?: AbortSignal): Promise<void> {
    if (files.length === 0) return;
    const elsewhere = this.#removeElsewhere(files, signal);
    const here = sideBySide(files, REMOVED_AT_A_TIME, (file) =>
      this.#quietly(`the bytes of ${file.kind} ${file.fileId}`, () => this.stage.removeItem(file)),
    );
    await Promise.all([here, elsewhere]);
    this.#recordRemoval(files, reason);
  }

  /** Removes versions of a file that no record has. Never fails: what could not be removed goes with the file. */
  async removeVersions(versions: readonly FileKey[]): Promise<void> {
    if (versions.length === 0) return;
    await this.#quietly(`a version of ${versions[0]?.kind} ${versions[0]?.fileId}`, async () => {
      for (const version of versions) await this.stage.removeVersion(version);
      await this.#blobStore?.remove(versions, AbortSignal.timeout(this.#blobTimeoutMs));
    });
  }

  /** Removes what else lies in the folders of a session that is gone. Never fails. */
  async discardSession(sessionId: string, serverId?: string): Promise<void> {
    await this.#quietly(`the folders of session ${sessionId}`, () => this.stage.removeSession(sessionId, serverId));
  }

  /** Never shows a part of it, nor bytes that are not those of the record. */
  async #fetch(blobStore: BlobStore, file: FileRecord, signal?: AbortSignal): Promise<void> {
    // Before the bytes are asked for: a connection whose body nobody reads would stay open.
    const writer = await this.stage.create(file, { atomic: true });
    try {
      const bytes = await blobStore.get(file, signal);
      const hash = createHash('sha256');
      let size = 0;
      for await (const chunk of bytes) {
        signal?.throwIfAborted();
        size += chunk.length;
        if (size > file.sizeBytes) break;
        hash.update(chunk);
        await writer.write(chunk);
      }
      const isIt = size === file.sizeBytes && (file.sha256 === null || hash.digest('hex') === file.sha256);
      if (!isIt) throw new FileRefused('changed', `${file.kind} ${file.fileId} is another one in object storage`);
      await writer.finish();
    } catch (error) {
      await writer.abort();
      throw error;
    }
    await this.#dropIfRemoved(file);
  }

  /** Its session may have ended since its record was read; nobody would remove the bytes that came after that. */
  async #dropIfRemoved(file: FileRecord): Promise<void> {
    const known = await this.#options.records.known(file.sessionId, [file.fileId]);
    if (known.has(file.fileId)) return;
    await this.stage.removeItem(file);
    throw new FileRefused('missing', `${file.kind} ${file.fileId} was removed`);
  }

  async #removeElsewhere(files: readonly FileRecord[], stop?: AbortSignal): Promise<void> {
    const blobStore = this.#blobStore;
    if (blobStore === undefined) return;
    await this.#quietly(`${files.length} files in object storage`, async () => {
      if (performance.now() < this.#blobRestsUntil) throw new Error('object storage did not answer a moment ago');
      const timeout = AbortSignal.timeout(this.#blobTimeoutMs);
      try {
        await blobStore.remove(
          files.flatMap(versionsOf),
          stop === undefined ? timeout : AbortSignal.any([stop, timeout]),
        );
      } catch (error) {
        // A cleanup discards batch after batch; waiting for each of them would take hours.
        if (timeout.aborted) this.#blobRestsUntil = performance.now() + BLOB_STORE_REST_MS;
        throw error;
      }
    });
  }

  async #quietly(what: string, remove: () => Promise<void>): Promise<void> {
    try {
      await remove();
    } catch (error) {
      this.#options.onError(`${what} could not be removed`, error);
    }
  }

  #recordRemoval(files: readonly FileRecord[], reason: RemovalReason): void {
    for (const kind of ['upload', 'artifact'] satisfies FileKind[]) {
      const removed = files.filter((file) => file.kind === kind).length;
      if (removed > 0) this.#options.telemetry.filesRemoved({ kind, reason, files: removed });
    }
  }
}
