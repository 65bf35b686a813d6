import { randomUUID } from 'node:crypto';

import { type BusKey, busKeyText } from '../state/message-bus.ts';
import type { StateStore } from '../state/state-store.ts';
import type { SseConnection } from './sse-connection.ts';

/** How long the other replicas believe in an owner that has fallen silent. */
const LEASE_MS = 5_000;
/** Longer than another replica may take to open the session anew, once it has seen that the lease had lapsed. */
const DOUBT_MS = 60_000;

/** A stream that this replica reads for all. Times are of `performance.now()`. */
interface Owned {
  readonly key: BusKey;
  readonly connection: Pick<SseConnection, 'close'>;
  /** When the lease was last extended. */
  renewedAt: number;
  /** Until then another replica may become the owner of a new stream, because the lease had lapsed. */
  doubtedUntil: number;
}

/** Which replica reads the stream of a session: its owner, which holds a lease in the store for as long as it does. */
export class SseOwners {
  readonly #store: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;
  readonly #replica = randomUUID();
  readonly #owned = new Map<string, Owned>();

  constructor(store: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>) {
    this.#store = store;
  }

  /** This replica has opened the stream. */
  async own(key: BusKey, connection: Pick<SseConnection, 'close'>): Promise<void> {
    this.#owned.set(busKeyText(key), { key, connection, renewedAt: performance.now(), doubtedUntil: 0 });
    await this.#store.tryLock(ownerLock(key), this.#replica, LEASE_MS);
  }

  /** Whether it is this replica. */
  isHere(key: BusKey): boolean {
    return this.#owned.has(busKeyText(key));
  }

  /** Whether there is one. */
  async has(key: BusKey): Promise<boolean> {
    return this.isHere(key) || (await this.#store.lockHolder(ownerLock(key))) !== undefined;
  }

  /** The stream has ended. False: it was not the one that is read here. */
  closed(key: BusKey, connection: Pick<SseConnection, 'close'>): boolean {
    if (this.#owned.get(busKeyText(key))?.connection !== connection) return false;
    this.#owned.delete(busKeyText(key));
    // What stays expires.
    this.#store.unlock(ownerLock(key), this.#replica).catch(() => undefined);
    return true;
  }

  /** Closes the stream; false: it is not read here. */
  close(key: BusKey): boolean {
    const owned = this.#owned.get(busKeyText(key));
    owned?.connection.close();
    return owned !== undefined;
  }

  closeAll(): void {
    for (const { connection } of this.#owned.values()) connection.close();
  }

  /** Extends the leases. */
  async extend(): Promise<void> {
    await Promise.all([...this.#owned.values()].map((owned) => this.#extend(owned)));
  }

  /** If the lease had lapsed, there may be a new owner of a new stream; then this one is given up. */
  async #extend(owned: Owned): Promise<void> {
    await this.#store.tryLock(ownerLock(owned.key), this.#replica, LEASE_MS);
    const now = performance.now();
    if (now - owned.renewedAt > LEASE_MS) owned.doubtedUntil = now + DOUBT_MS;
    owned.renewedAt = now;
    if (now >= owned.doubtedUntil) return;
    const next = { ...owned.key, generation: owned.key.generation + 1 };
    if ((await this.#store.lockHolder(ownerLock(next))) !== undefined) owned.connection.close();
  }
}

function ownerLock(key: BusKey): string {
  return `sse:${key.serverId}:${key.sessionId}:${key.generation}`;
}
