import type { Baseline } from '../catalog/baseline.ts';
import { AvailableFiles } from './available-files.ts';
import type { FileRecords } from './file-records.ts';
import type { FirstTexts } from './first-texts.ts';
import type { Caller, CallLease, Found, SessionKey, SessionRecord, StateCounts, StateStore } from './state-store.ts';
import { StoreHealth } from './store-health.ts';
import type { Availability, AvailabilityOptions } from './store-health.ts';
import type { UploadNonces } from './upload-nonces.ts';

/** A store that applies `unavailable_policy` to another one. */
export class AvailableStore implements StateStore {
  readonly files: FileRecords = new AvailableFiles(
    (operation, waits) => this.#health.run(operation, waits),
    () => this.#health.mirror,
    () => this.#health.now(),
  );
  /** Those of an outage are others: a nonce that another replica might take as well would not be single-use. */
  readonly nonces: UploadNonces = {
    issue: (nonce, permission, now) => this.#health.run((store) => store.nonces.issue(nonce, permission, now)),
    find: (nonce, now) => this.#health.run((store) => store.nonces.find(nonce, now)),
    consume: (nonce, now) => this.#health.run((store) => store.nonces.consume(nonce, now)),
  };
  readonly firstTexts: FirstTexts = {
    find: (name, time) => this.#health.run((store) => store.firstTexts.find(name, time)),
    keep: (name, text, time) => this.#health.run((store) => store.firstTexts.keep(name, text, time)),
  };
  readonly #health: StoreHealth;

  constructor(primary: StateStore, options: AvailabilityOptions) {
    this.#health = new StoreHealth(primary, options);
  }

  /** Makes the first contact, which may fail like any later one, and begins to check the store's health. */
  start(): Promise<void> {
    return this.#health.start();
  }

  /** There is reason to think that the store is back. */
  recheck(): Promise<void> {
    return this.#health.recheck();
  }

  /** From now on operations fail at once in an outage. */
  endWaits(): void {
    this.#health.endWaits();
  }

  get fallbackActive(): boolean {
    return this.#health.fallbackActive;
  }

  status(): Availability {
    return this.#health.status();
  }

  /** Another replica has said that the session ended. */
  forget(key: SessionKey): void {
    this.#health.mirror?.removed(key);
  }

  now(): number {
    return this.#health.now();
  }

  async secret(name: string): Promise<string> {
    const secret = await this.#health.run((store) => store.secret(name));
    this.#health.mirror?.store.importSecrets([[name, secret]]);
    return secret;
  }

  reserve(key: SessionKey, options: { maxActive: number; now: number; expiresAt: number }): Promise<boolean> {
    return this.#health.run((store) => store.reserve(key, options));
  }

  release(key: SessionKey): Promise<void> {
    return this.#health.run((store) => store.release(key));
  }

  async open(record: SessionRecord): Promise<void> {
    await this.#health.run((store) => store.open(record));
    this.#health.mirror?.opened(record);
  }

  async find(key: SessionKey, caller: Caller): Promise<Found> {
    const found = await this.#health.run((store) => store.find(key, caller));
    this.#health.mirror?.found(key, caller, found);
    return found;
  }

  async touch(key: SessionKey, caller: Caller): Promise<Found> {
    const found = await this.#health.run((store) => store.touch(key, caller));
    this.#health.mirror?.found(key, caller, found);
    return found;
  }

  async enter(
    key: SessionKey,
    caller: Caller,
    call: CallLease & { maxInFlight: number | null },
  ): Promise<Found | { state: 'limit' }> {
    const found = await this.#health.run((store) => store.enter(key, caller, call));
    this.#health.mirror?.found(key, caller, found);
    return found;
  }

  renew(calls: readonly { key: SessionKey; lease: CallLease }[], now: number): Promise<void> {
    return this.#health.run((store) => store.renew(calls, now));
  }

  leave(key: SessionKey, leaseId: string, now: number): Promise<void> {
    return this.#health.run((store) => store.leave(key, leaseId, now));
  }

  async revive(
    key: SessionKey,
    caller: Caller,
    options: { maxActive: number | null },
  ): Promise<Found | { state: 'limit' }> {
    const found = await this.#health.run((store) => store.revive(key, caller, options));
    this.#health.mirror?.found(key, caller, found);
    return found;
  }

  async replaceUpstream(
    key: SessionKey,
    generation: number,
    upstream: { upstreamSessionId: string | null; protocolVersion: string },
  ): Promise<boolean> {
    const replaced = await this.#health.run((store) => store.replaceUpstream(key, generation, upstream));
    if (replaced) await this.#health.mirror?.store.replaceUpstream(key, generation, upstream);
    return replaced;
  }

  async setLogLevel(key: SessionKey, params: string): Promise<void> {
    await this.#health.run((store) => store.setLogLevel(key, params));
    await this.#health.mirror?.store.setLogLevel(key, params);
  }

  async setSubscription(key: SessionKey, uri: string, subscribed: boolean): Promise<void> {
    await this.#health.run((store) => store.setSubscription(key, uri, subscribed));
    await this.#health.mirror?.store.setSubscription(key, uri, subscribed);
  }

  async dropLists(key: SessionKey): Promise<void> {
    await this.#health.run((store) => store.dropLists(key));
    await this.#health.mirror?.store.dropLists(key);
  }

  async pin(key: SessionKey, baseline: Baseline): Promise<Baseline | undefined> {
    const pinned = await this.#health.run((store) => store.pin(key, baseline));
    if (pinned !== undefined) this.#health.mirror?.pinned(key, pinned);
    return pinned;
  }

  async baseline(key: SessionKey): Promise<Baseline | undefined> {
    const pinned = await this.#health.run((store) => store.baseline(key));
    if (pinned !== undefined) this.#health.mirror?.pinned(key, pinned);
    return pinned;
  }

  async remove(key: SessionKey): Promise<SessionRecord | undefined> {
    const removed = await this.#health.run((store) => store.remove(key));
    this.#health.mirror?.removed(key);
    return removed;
  }

  async invalidate(key: SessionKey, reason: string, expiresAt: number): Promise<boolean> {
    const invalidated = await this.#health.run((store) => store.invalidate(key, reason, expiresAt));
    await this.#health.mirror?.store.invalidate(key, reason, expiresAt);
    return invalidated;
  }

  async expireIdle(options: {
    now: number;
    idleBefore: number;
    tombstoneUntil: number | null;
    limit: number;
  }): Promise<SessionRecord[]> {
    const expired = await this.#health.run((store) => store.expireIdle(options));
    for (const record of expired) this.#health.mirror?.ended(record, options.tombstoneUntil);
    return expired;
  }

  async expireWorkspaces(options: { now: number; idleBefore: number; limit: number }): Promise<SessionRecord[]> {
    const expired = await this.#health.run((store) => store.expireWorkspaces(options));
    for (const record of expired) this.#health.mirror?.removed(record);
    return expired;
  }

  async expireTombstones(options: { now: number; limit: number }): Promise<SessionRecord[]> {
    const expired = await this.#health.run((store) => store.expireTombstones(options));
    for (const record of expired) this.#health.mirror?.removed(record);
    return expired;
  }

  counts(now: number): Promise<StateCounts> {
    // Health and telemetry ask, and want to know how things are now.
    return this.#health.run((store) => store.counts(now), false);
  }

  async clear(): Promise<void> {
    await this.#health.run((store) => store.clear());
    this.#health.resetMirror();
  }

  tryLock(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return this.#health.run((store) => store.tryLock(name, owner, ttlMs));
  }

  unlock(name: string, owner: string): Promise<void> {
    return this.#health.run((store) => store.unlock(name, owner));
  }

  lockHolder(name: string): Promise<string | undefined> {
    return this.#health.run((store) => store.lockHolder(name));
  }

  ping(): Promise<void> {
    return this.#health.run((store) => store.ping(), false);
  }

  /** Stops the health checks and closes the store. */
  close(): Promise<void> {
    return this.#health.close();
  }
}
