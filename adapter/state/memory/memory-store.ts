import type { Baseline } from '../../catalog/baseline.ts';
import type { FileRecord, FileRecords } from '../file-records.ts';
import { expireWorkspaces } from '../tables/file-rules.ts';
import type { FileTables } from '../tables/file-rules.ts';
import { MemoryFileTable } from './memory-file-table.ts';
import type { CallLimits, HeldPlaces, Refused } from '../call-limits.ts';
import type { FirstTexts } from '../first-texts.ts';
import { TableFirstTexts } from '../tables/first-text-table.ts';
import { MemoryFirstTexts } from './memory-first-texts.ts';
import { MemoryLimitTable } from './memory-limit-table.ts';
import { MemoryNonceTable } from './memory-nonce-table.ts';
import { MemorySessionTable } from './memory-session-table.ts';
import { leavePlaces } from '../tables/limit-rules.ts';
import { TableCallLimits } from '../tables/table-call-limits.ts';
import { TableNonces } from '../tables/nonce-table.ts';
import { newSecret } from '../secret.ts';
import * as rules from '../tables/session-rules.ts';
import type { Lock } from '../tables/session-table.ts';
import type {
  Caller,
  CallLease,
  EnteringCall,
  Found,
  SessionKey,
  SessionRecord,
  StateCounts,
  StateStore,
} from '../state-store.ts';
import { isTerminal } from '../stored-session.ts';
import type { StoredSession } from '../stored-session.ts';
import { TableFiles } from '../tables/table-files.ts';
import { NOT_RECONCILED } from '../not-reconciled.ts';
import type { UploadNonces } from '../upload-nonces.ts';

/**
 * Sessions in this process only. Every method does its work before it returns its promise, so no two of them overlap.
 * It never fails.
 */
export class MemoryStore implements StateStore {
  readonly files: FileRecords;
  readonly nonces: UploadNonces;
  readonly firstTexts: FirstTexts;
  readonly callLimits: CallLimits;
  readonly #files = new MemoryFileTable((session) => this.#isAlive(session));
  readonly #table = new MemorySessionTable((session) => this.#files.sessionEnded(session));
  readonly #nonces = new MemoryNonceTable();
  readonly #limits = new MemoryLimitTable();
  readonly #secrets = new Map<string, string>();

  constructor() {
    const tables: FileTables = { sessions: this.#table, files: this.#files };
    const step = async <T>(work: (tables: FileTables) => T): Promise<T> => work(tables);
    this.files = new TableFiles({ step, read: step });
    this.nonces = new TableNonces(async (work) => work(this.#nonces));
    const texts = new MemoryFirstTexts();
    this.firstTexts = new TableFirstTexts(async (work) => work(texts));
    this.callLimits = new TableCallLimits(async (work) => work(this.#limits));
  }

  now(): number {
    return Date.now();
  }

  async secret(name: string): Promise<string> {
    const known = this.#secrets.get(name);
    if (known !== undefined) return known;
    const secret = newSecret();
    this.#secrets.set(name, secret);
    return secret;
  }

  async reserve(key: SessionKey, options: { maxActive: number; now: number; expiresAt: number }): Promise<boolean> {
    return rules.reserve(this.#table, key, options);
  }

  async release(key: SessionKey): Promise<void> {
    this.#table.dropReservation(key);
  }

  async open(record: SessionRecord): Promise<void> {
    rules.open(this.#table, record);
  }

  async find(key: SessionKey, caller: Caller): Promise<Found> {
    return rules.find(this.#table, key, caller);
  }

  async touch(key: SessionKey, caller: Caller): Promise<Found> {
    return rules.touch(this.#table, key, caller);
  }

  async enter(key: SessionKey, caller: Caller, call: EnteringCall): Promise<Found | { state: 'limit' } | Refused> {
    return rules.enter(this.#table, this.#limits, key, caller, call);
  }

  async renew(calls: readonly { key: SessionKey; lease: CallLease }[], now: number): Promise<void> {
    rules.renew(this.#table, calls, now);
  }

  async leave(key: SessionKey, leaseId: string, now: number, places: HeldPlaces['places'] = []): Promise<void> {
    leavePlaces(this.#limits, { id: leaseId, places });
    rules.leave(this.#table, key, leaseId, now);
  }

  async revive(
    key: SessionKey,
    caller: Caller,
    options: { maxActive: number | null },
  ): Promise<Found | { state: 'limit' }> {
    return rules.revive(this.#table, key, caller, options);
  }

  async replaceUpstream(
    key: SessionKey,
    generation: number,
    upstream: { upstreamSessionId: string | null; protocolVersion: string },
  ): Promise<boolean> {
    return rules.replaceUpstream(this.#table, key, generation, upstream);
  }

  async setLogLevel(key: SessionKey, params: string): Promise<void> {
    rules.setLogLevel(this.#table, key, params);
  }

  async setSubscription(key: SessionKey, uri: string, subscribed: boolean): Promise<void> {
    rules.setSubscription(this.#table, key, uri, subscribed);
  }

  async dropLists(key: SessionKey): Promise<void> {
    rules.dropLists(this.#table, key);
  }

  async pin(key: SessionKey, baseline: Baseline): Promise<Baseline | undefined> {
    return rules.pin(this.#table, key, baseline);
  }

  async baseline(key: SessionKey): Promise<Baseline | undefined> {
    return rules.pinned(this.#table, key);
  }

  async remove(key: SessionKey): Promise<SessionRecord | undefined> {
    return rules.remove(this.#table, key);
  }

  async invalidate(key: SessionKey, reason: string, expiresAt: number): Promise<boolean> {
    return rules.invalidate(this.#table, key, reason, expiresAt);
  }

  async expireIdle(options: {
    now: number;
    idleBefore: number;
    tombstoneUntil: number | null;
    limit: number;
  }): Promise<SessionRecord[]> {
    return rules.expireIdle(this.#table, options);
  }

  async expireWorkspaces(options: { now: number; idleBefore: number; limit: number }): Promise<SessionRecord[]> {
    return expireWorkspaces({ sessions: this.#table, files: this.#files }, options);
  }

  async expireTombstones(options: { now: number; limit: number }): Promise<SessionRecord[]> {
    return rules.expireTombstones(this.#table, options);
  }

  async active({ offset, limit }: { offset: number; limit: number }): Promise<SessionRecord[]> {
    return this.#table.active(offset, limit).map(({ record }) => record);
  }

  async counts(now: number): Promise<StateCounts> {
    return this.#table.counts(now);
  }

  async clear(): Promise<void> {
    this.#files.clear();
    this.#nonces.clear();
    this.#table.clear();
  }

  async tryLock(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return rules.tryLock(this.#table, name, { owner, ttlMs, now: Date.now() });
  }

  async unlock(name: string, owner: string): Promise<void> {
    rules.unlock(this.#table, name, owner);
  }

  async lockHolder(name: string): Promise<string | undefined> {
    return rules.lockHolder(this.#table, name, Date.now());
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  /** Whether this caller may know of the session. */
  has(key: SessionKey, caller: Caller): boolean {
    return rules.find(this.#table, key, caller).state !== 'unknown';
  }

  /** All sessions and tombstones, for a snapshot. Leases and reservations belong to running requests and stay out. */
  export(): StoredSession[] {
    return this.#table.all().map(({ record, ending }) => ({ record, ending }));
  }

  /** Takes in what `export` gave; sessions of the same key are replaced. */
  import(sessions: Iterable<StoredSession>): void {
    for (const session of sessions) this.#table.put(session);
  }

  /** The texts of the baselines that sessions have, by fingerprint, for a snapshot. */
  exportBaselines(): Map<string, string> {
    return this.#table.baselines();
  }

  /** Takes in the texts of baselines that sessions have. */
  importBaselines(texts: Iterable<readonly [fingerprint: string, text: string]>): void {
    this.#table.learnBaselines(texts);
  }

  /** Takes in what another store has pinned for a session, if it is here; its own pin gives way. */
  importPin(key: SessionKey, baseline: Baseline): void {
    const row = this.#table.get(key);
    if (row !== undefined) this.#table.pin(row, baseline);
  }

  /** Committed files, for a snapshot; who uses them now stays out. */
  exportFiles(): FileRecord[] {
    const records = this.#files.all().map(({ record }) => record);
    return records.filter(({ state }) => state === 'committed').map((record) => ({ ...record, leaseUntil: 0 }));
  }

  /** Takes in committed files of sessions that are there; files of the same key are replaced. */
  importFiles(files: Iterable<FileRecord>): void {
    for (const record of files) if (this.#isAlive(record)) this.#files.put({ record, uses: 0 });
  }

  exportSecrets(): Map<string, string> {
    return new Map(this.#secrets);
  }

  importSecrets(secrets: Iterable<readonly [string, string]>): void {
    for (const [name, secret] of secrets) this.#secrets.set(name, secret);
  }

  /** The lasting mark that reconciliation has to go on, for a snapshot. Locks that somebody holds stay out. */
  exportMark(): Lock | undefined {
    return this.#table.lock(NOT_RECONCILED);
  }

  importMark(mark: Lock | undefined): void {
    this.#table.setLock(NOT_RECONCILED, mark);
  }

  #isAlive(session: SessionKey): boolean {
    const stored = this.#table.get(session);
    return stored !== undefined && !isTerminal(stored);
  }
}
