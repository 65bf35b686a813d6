import type { Baseline } from '../../catalog/baseline.ts';
import type { Refused } from '../call-limits.ts';
import type { FileKey, FileRecord } from '../file-records.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import type { Caller, Found, SessionKey, SessionRecord } from '../state-store.ts';
import { keyText } from '../stored-session.ts';

/**
 * The sessions and their committed files that this replica last saw, as it saw them, for `fallback_memory`. It holds
 * the newest `limit` sessions and twice as many files.
 */
export class SessionMirror {
  /** What goes on when the store fails. Running calls are not in it. */
  readonly store = new MemoryStore();
  /** In the order in which they were last seen. */
  readonly #seen = new Map<string, SessionKey>();
  /** The same for files. */
  readonly #seenFiles = new Map<string, FileKey>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A store answered this caller's request with this. To others a session is unknown that is there. */
  found(key: SessionKey, caller: Caller, found: Found | { state: 'limit' } | Refused): void {
    if (found.state === 'active') this.opened(found.record);
    else if (found.state === 'tombstoned') this.ended(found.record, found.expiresAt);
    else if (found.state === 'invalidated') void this.store.invalidate(key, found.reason, found.expiresAt);
    else if (found.state === 'unknown' && this.store.has(key, caller)) this.removed(key);
  }

  opened(record: SessionRecord): void {
    this.#note(record);
    this.store.import([{ record, ending: null }]);
  }

  /** Null: the session is gone. */
  ended(record: SessionRecord, expiresAt: number | null): void {
    if (expiresAt === null) {
      this.removed(record);
      return;
    }
    this.#note(record);
    this.store.import([{ record: { ...record, upstreamSessionId: '' }, ending: { expiresAt, reason: null } }]);
  }

  /** A store answered with what is pinned for this session. Of other sessions only the fingerprint is known. */
  pinned(key: SessionKey, baseline: Baseline): void {
    this.store.importPin(key, baseline);
  }

  removed(key: SessionKey): void {
    this.#seen.delete(keyText(key));
    void this.store.remove(key);
    void this.store.files.purge(key);
  }

  /** A store answered with these committed files. */
  filesSeen(files: readonly FileRecord[]): void {
    this.store.importFiles(files);
    for (const { serverId, sessionId, kind, fileId } of files) {
      const text = fileText({ serverId, sessionId, kind, fileId });
      this.#seenFiles.delete(text);
      this.#seenFiles.set(text, { serverId, sessionId, kind, fileId });
    }
    for (const oldest of this.#seenFiles.values()) {
      if (this.#seenFiles.size <= 2 * this.#limit) break;
      this.filesRemoved([oldest]);
    }
  }

  filesRemoved(keys: readonly FileKey[]): void {
    for (const key of keys) {
      this.#seenFiles.delete(fileText(key));
      void this.store.files.remove(key);
    }
  }

  #note(key: SessionKey): void {
    const text = keyText(key);
    this.#seen.delete(text);
    this.#seen.set(text, { serverId: key.serverId, sessionId: key.sessionId });
    if (this.#seen.size <= this.#limit) return;
    const [oldest] = this.#seen.values();
    if (oldest !== undefined) this.removed(oldest);
  }
}

const fileText = (key: FileKey): string => `${keyText(key)}\n${key.kind}\n${key.fileId}`;
