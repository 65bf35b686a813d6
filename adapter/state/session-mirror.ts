import { MemoryStore } from './memory-store.ts';
import type { Found, SessionKey, SessionRecord } from './state-store.ts';
import { keyText } from './stored-session.ts';

/**
 * The sessions that this replica last saw, as it saw them, for `fallback_memory`. It holds the newest `limit` ones.
 */
export class SessionMirror {
  /** What goes on when the store fails. Running calls are not in it. */
  readonly store = new MemoryStore();
  /** In the order in which they were last seen. */
  readonly #seen = new Map<string, SessionKey>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A store answered a request with this. */
  found(key: SessionKey, found: Found | { state: 'limit' }): void {
    if (found.state === 'active') this.opened(found.record);
    else if (found.state === 'tombstoned') this.ended(found.record, found.expiresAt);
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

  removed(key: SessionKey): void {
    this.#seen.delete(keyText(key));
    void this.store.remove(key);
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
