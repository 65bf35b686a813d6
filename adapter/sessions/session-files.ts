import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { SessionKey, StateStore } from '../state/state-store.ts';
import type { RemovalReason } from '../telemetry/telemetry.ts';

/** Removes bytes whose records are gone, wherever they are, and tells telemetry. FileStore does. */
export interface FileDiscard {
  /** Goes on with the others when the bytes of one file cannot be removed: they are an orphan from then on. */
  discard(files: readonly FileRecord[], reason: RemovalReason, signal?: AbortSignal): Promise<void>;
  /** Removes what else lies in the folders of a session. */
  discardSession(sessionId: string, serverId?: string): Promise<void>;
}

/** The files of a session die with it (specification, section 3.1). */
export class SessionFiles {
  readonly #store: Pick<StateStore, 'invalidate'> & { readonly files: Pick<FileRecords, 'purge'> };
  readonly #bytes: FileDiscard;
  readonly #onError: (error: unknown) => void;

  constructor(
    store: Pick<StateStore, 'invalidate'> & { readonly files: Pick<FileRecords, 'purge'> },
    bytes: FileDiscard,
    onError: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#bytes = bytes;
    this.#onError = onError;
  }

  /**
   * Removes the files of a session that is gone, and returns what they were. It never fails: what a crash or a
   * failure leaves is found by the cleanup (`purgeAbandoned`, orphans). `signal` is that of `discard`.
   */
  async purge(key: SessionKey, signal?: AbortSignal): Promise<readonly FileRecord[]> {
    try {
      const files = await this.#store.files.purge(key);
      if (files.length > 0) await this.#bytes.discard(files, 'session_ended', signal);
      await this.#bytes.discardSession(key.sessionId, key.serverId);
      return files;
    } catch (error) {
      this.#onError(error);
      return [];
    }
  }

  /** Makes the session a terminal tombstone and removes its files at once. False: there was no such session. */
  async invalidate(key: SessionKey, reason: string, expiresAt: number): Promise<boolean> {
    const invalidated = await this.#store.invalidate(key, reason, expiresAt);
    if (invalidated) await this.purge(key);
    return invalidated;
  }
}
