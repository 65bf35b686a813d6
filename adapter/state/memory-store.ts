import type { Caller, CallLease, Found, SessionKey, SessionRecord, StateCounts, StateStore } from './state-store.ts';
import { isTerminal, keyText, seenBy, withSubscription } from './stored-session.ts';
import type { Ending, StoredSession } from './stored-session.ts';
import { StringPool } from './string-pool.ts';

interface Entry extends StoredSession {
  record: SessionRecord;
  ending: Ending | null;
  /** Lease id → until. Absent while no call runs, which is most of a session's life. */
  leases: Map<string, number> | undefined;
}

/**
 * Sessions in this process only. Every method does its work before it returns its promise, so no two of them overlap.
 * It never fails.
 */
export class MemoryStore implements StateStore {
  readonly #active = new Map<string, Entry>();
  readonly #ended = new Map<string, Entry>();
  /** The active sessions that have leases, so that counting calls does not visit every session. */
  readonly #busy = new Set<Entry>();
  readonly #reservations = new Map<string, number>();
  readonly #locks = new Map<string, { owner: string; until: number }>();
  readonly #strings = new StringPool();

  async reserve(key: SessionKey, options: { maxActive: number; now: number; expiresAt: number }): Promise<boolean> {
    const text = keyText(key);
    this.#reservations.delete(text);
    if (this.#isFull(options.maxActive, options.now)) return false;
    this.#reservations.set(text, options.expiresAt);
    return true;
  }

  async release(key: SessionKey): Promise<void> {
    this.#reservations.delete(keyText(key));
  }

  async open(record: SessionRecord): Promise<void> {
    const text = keyText(record);
    this.#reservations.delete(text);
    this.#put(text, { record, ending: null });
  }

  async find(key: SessionKey, caller: Caller): Promise<Found> {
    return seenBy(this.#get(keyText(key)), caller);
  }

  async enter(
    key: SessionKey,
    caller: Caller,
    call: CallLease & { maxInFlight: number | null },
  ): Promise<Found | { state: 'limit' }> {
    const entry = this.#get(keyText(key));
    const found = seenBy(entry, caller);
    if (entry === undefined || found.state !== 'active') return found;

    const running = entry.leases?.size ?? 0;
    if (call.maxInFlight !== null && running >= call.maxInFlight && !entry.leases?.has(call.id)) {
      this.#dropExpiredLeases(entry, caller.now);
      if ((entry.leases?.size ?? 0) >= call.maxInFlight) return { state: 'limit' };
    }
    if (entry.leases === undefined) {
      entry.leases = new Map();
      this.#busy.add(entry);
    }
    entry.leases.set(call.id, call.until);
    if (caller.now > entry.record.lastActiveAt) entry.record = { ...entry.record, lastActiveAt: caller.now };
    return { state: 'active', record: entry.record };
  }

  async renew(calls: readonly { key: SessionKey; lease: CallLease }[]): Promise<void> {
    for (const { key, lease } of calls) {
      const leases = this.#active.get(keyText(key))?.leases;
      if (leases?.has(lease.id)) leases.set(lease.id, lease.until);
    }
  }

  async leave(key: SessionKey, leaseId: string): Promise<void> {
    const entry = this.#active.get(keyText(key));
    if (entry?.leases?.delete(leaseId)) this.#settle(entry);
  }

  async revive(
    key: SessionKey,
    caller: Caller,
    options: { maxActive: number | null },
  ): Promise<Found | { state: 'limit' }> {
    const text = keyText(key);
    const entry = this.#get(text);
    const found = seenBy(entry, caller);
    if (entry === undefined || found.state !== 'tombstoned') return found;
    if (options.maxActive !== null && this.#isFull(options.maxActive, caller.now)) return { state: 'limit' };
    this.#ended.delete(text);
    entry.record = { ...entry.record, lastActiveAt: caller.now };
    entry.ending = null;
    this.#active.set(text, entry);
    return { state: 'active', record: entry.record };
  }

  async replaceUpstream(
    key: SessionKey,
    generation: number,
    upstream: { upstreamSessionId: string | null; protocolVersion: string },
  ): Promise<boolean> {
    const entry = this.#active.get(keyText(key));
    if (entry?.record.generation !== generation) return false;
    this.#change(entry, { ...upstream, generation: generation + 1 });
    return true;
  }

  async setLogLevel(key: SessionKey, params: string): Promise<void> {
    const entry = this.#get(keyText(key));
    if (entry !== undefined) this.#change(entry, { logLevel: params });
  }

  async setSubscription(key: SessionKey, uri: string, subscribed: boolean): Promise<void> {
    const entry = this.#get(keyText(key));
    if (entry === undefined) return;
    this.#change(entry, { subscriptions: withSubscription(entry.record.subscriptions, uri, subscribed) });
  }

  async dropLists(key: SessionKey): Promise<void> {
    const entry = this.#get(keyText(key));
    if (entry !== undefined) this.#change(entry, { listsGeneration: entry.record.listsGeneration + 1 });
  }

  async remove(key: SessionKey): Promise<SessionRecord | undefined> {
    return this.#delete(keyText(key))?.record;
  }

  async invalidate(key: SessionKey, reason: string, expiresAt: number): Promise<boolean> {
    const text = keyText(key);
    const entry = this.#get(text);
    if (entry === undefined) return false;
    if (!isTerminal(entry)) this.#end(text, entry, { expiresAt, reason });
    return true;
  }

  async expireIdle(options: {
    now: number;
    idleBefore: number;
    tombstoneUntil: number | null;
    limit: number;
  }): Promise<SessionRecord[]> {
    const expired: SessionRecord[] = [];
    for (const [text, entry] of this.#active) {
      if (expired.length >= options.limit) break;
      if (entry.record.lastActiveAt >= options.idleBefore) continue;
      this.#dropExpiredLeases(entry, options.now);
      if (entry.leases !== undefined) continue;
      expired.push(entry.record);
      if (options.tombstoneUntil === null) {
        this.#delete(text);
      } else {
        this.#change(entry, { upstreamSessionId: '' });
        this.#end(text, entry, { expiresAt: options.tombstoneUntil, reason: null });
      }
    }
    return expired;
  }

  async expireTombstones(options: { now: number; limit: number }): Promise<SessionRecord[]> {
    const expired: SessionRecord[] = [];
    for (const [text, entry] of this.#ended) {
      if (expired.length >= options.limit) break;
      if (entry.ending === null || entry.ending.expiresAt > options.now) continue;
      expired.push(entry.record);
      this.#delete(text);
    }
    return expired;
  }

  async counts(now: number): Promise<StateCounts> {
    let tombstones = 0;
    for (const { ending } of this.#ended.values()) if (ending !== null && ending.expiresAt > now) tombstones += 1;
    let inFlight = 0;
    for (const { leases } of this.#busy) for (const until of leases?.values() ?? []) if (until > now) inFlight += 1;
    return { sessions: this.#active.size, tombstones, inFlight };
  }

  async clear(): Promise<void> {
    for (const text of [...this.#active.keys(), ...this.#ended.keys()]) this.#delete(text);
    this.#reservations.clear();
  }

  async tryLock(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const holder = await this.lockHolder(name);
    if (holder !== undefined && holder !== owner) return false;
    this.#locks.set(name, { owner, until: Date.now() + ttlMs });
    return true;
  }

  async unlock(name: string, owner: string): Promise<void> {
    if (this.#locks.get(name)?.owner === owner) this.#locks.delete(name);
  }

  async lockHolder(name: string): Promise<string | undefined> {
    const lock = this.#locks.get(name);
    if (lock === undefined) return undefined;
    if (lock.until > Date.now()) return lock.owner;
    this.#locks.delete(name);
    return undefined;
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  /** All sessions and tombstones, for a snapshot. Leases and reservations belong to running requests and stay out. */
  export(): StoredSession[] {
    return [...this.#active.values(), ...this.#ended.values()].map(({ record, ending }) => ({ record, ending }));
  }

  /** Takes in what `export` gave; sessions of the same key are replaced. */
  import(sessions: Iterable<StoredSession>): void {
    for (const session of sessions) this.#put(keyText(session.record), session);
  }

  #get(text: string): Entry | undefined {
    return this.#active.get(text) ?? this.#ended.get(text);
  }

  #put(text: string, { record, ending }: StoredSession): void {
    this.#delete(text);
    const pool = this.#strings;
    const shared: SessionRecord = {
      ...record,
      principal: pool.acquire(record.principal),
      initializeParams: pool.acquire(record.initializeParams),
    };
    (ending === null ? this.#active : this.#ended).set(text, { record: shared, ending, leases: undefined });
  }

  #change(entry: Entry, changes: Partial<SessionRecord>): void {
    entry.record = { ...entry.record, ...changes };
  }

  #end(text: string, entry: Entry, ending: Ending): void {
    this.#active.delete(text);
    this.#busy.delete(entry);
    entry.leases = undefined;
    entry.ending = ending;
    this.#ended.set(text, entry);
  }

  #delete(text: string): Entry | undefined {
    const entry = this.#get(text);
    if (entry === undefined) return undefined;
    this.#active.delete(text);
    this.#ended.delete(text);
    this.#busy.delete(entry);
    this.#strings.release(entry.record.principal);
    this.#strings.release(entry.record.initializeParams);
    return entry;
  }

  #isFull(maxActive: number, now: number): boolean {
    if (this.#active.size + this.#reservations.size < maxActive) return false;
    for (const [text, expiresAt] of this.#reservations) if (expiresAt <= now) this.#reservations.delete(text);
    return this.#active.size + this.#reservations.size >= maxActive;
  }

  #dropExpiredLeases(entry: Entry, now: number): void {
    for (const [id, until] of entry.leases ?? []) if (until <= now) entry.leases?.delete(id);
    this.#settle(entry);
  }

  #settle(entry: Entry): void {
    if (entry.leases?.size !== 0) return;
    entry.leases = undefined;
    this.#busy.delete(entry);
  }
}
