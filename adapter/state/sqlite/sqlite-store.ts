import type { Baseline } from '../../catalog/baseline.ts';
import { CommitQueue, fileFailed } from './commit-queue.ts';
import type { FileRecords } from '../file-records.ts';
import { expireWorkspaces } from '../tables/file-rules.ts';
import type { CallLimits, HeldPlaces, Refused } from '../call-limits.ts';
import type { FirstTexts } from '../first-texts.ts';
import { TableFirstTexts } from '../tables/first-text-table.ts';
import { leavePlaces } from '../tables/limit-rules.ts';
import { TableCallLimits } from '../tables/table-call-limits.ts';
import { TableNonces } from '../tables/nonce-table.ts';
import { newSecret } from '../secret.ts';
import * as rules from '../tables/session-rules.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import type { SqliteTables } from './sqlite-connection.ts';
import { sqliteFault } from '../../../lib/sqlite/sqlite-fault.ts';
import type { SqliteFile } from './sqlite-database.ts';
import type { SqliteSessionTable } from './sqlite-session-table.ts';
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
import { TableFiles } from '../tables/table-files.ts';
import type { UploadNonces } from '../upload-nonces.ts';

const ACTIVITY_FLUSH_MS = 1_000;

/**
 * Sessions in a SQLite file (specification 2.3, type `disk`). Steps that come in the same turn of the event loop share
 * one commit, and every promise resolves after it. Several processes of one host may use the same file; the time of
 * the last activity may then be up to a second old.
 */
export class SqliteStore implements StateStore {
  readonly files: FileRecords;
  readonly nonces: UploadNonces;
  readonly firstTexts: FirstTexts;
  readonly callLimits: CallLimits;
  readonly #connection: SqliteConnection;
  readonly #commits: CommitQueue;
  #activityTimer: NodeJS.Timeout | undefined;
  /** Whether calls are limited: then a call that ended must be seen at once. */
  #limited = false;

  /** The file is opened, and created, when it is first needed; `ping` says whether it can be. */
  constructor(file: SqliteFile) {
    this.#connection = new SqliteConnection(file);
    this.#commits = new CommitQueue(this.#connection);
    this.files = new TableFiles({ step: (work) => this.#stepOnAll(work), read: (work) => this.#read(work) });
    this.nonces = new TableNonces((work) => this.#stepOnAll(({ nonces }) => work(nonces)));
    this.firstTexts = new TableFirstTexts((work) => this.#stepOnAll(({ firstTexts }) => work(firstTexts)));
    this.callLimits = new TableCallLimits((work) => this.#stepOnAll(({ limits }) => work(limits)));
  }

  now(): number {
    return Date.now();
  }

  async secret(name: string): Promise<string> {
    const known = await this.#read(({ secrets }) => secrets.get(name));
    if (known !== undefined) return known;
    return this.#stepOnAll(({ secrets }) => {
      secrets.add(name, newSecret());
      return secrets.get(name) ?? '';
    });
  }

  reserve(key: SessionKey, options: { maxActive: number; now: number; expiresAt: number }): Promise<boolean> {
    return this.#step((table) => rules.reserve(table, key, options));
  }

  release(key: SessionKey): Promise<void> {
    return this.#step((table) => table.dropReservation(key));
  }

  open(record: SessionRecord): Promise<void> {
    return this.#step((table) => rules.open(table, record));
  }

  find(key: SessionKey, caller: Caller): Promise<Found> {
    return this.#read(({ sessions }) => rules.find(sessions, key, caller));
  }

  touch(key: SessionKey, caller: Caller): Promise<Found> {
    return this.#withActivity(this.#step((table) => rules.touch(table, key, caller)));
  }

  enter(key: SessionKey, caller: Caller, call: EnteringCall): Promise<Found | { state: 'limit' } | Refused> {
    this.#limited ||= call.maxInFlight !== null;
    return this.#withActivity(
      this.#stepOnAll(({ sessions, limits }) => rules.enter(sessions, limits, key, caller, call)),
    );
  }

  renew(calls: readonly { key: SessionKey; lease: CallLease }[], now: number): Promise<void> {
    return this.#withActivity(this.#step((table) => rules.renew(table, calls, now)));
  }

  /** Without limits on calls it waits some milliseconds for other steps to share its commit with. */
  leave(key: SessionKey, leaseId: string, now: number, places: HeldPlaces['places'] = []): Promise<void> {
    const leave = (): void => {
      const { sessions, limits } = this.#connection.tables;
      leavePlaces(limits, { id: leaseId, places });
      rules.leave(sessions, key, leaseId, now);
    };
    const isLimited = this.#limited || places.length > 0;
    return this.#withActivity(isLimited ? this.#commits.run(leave) : this.#commits.runRelaxed(leave));
  }

  revive(key: SessionKey, caller: Caller, options: { maxActive: number | null }): Promise<Found | { state: 'limit' }> {
    return this.#step((table) => rules.revive(table, key, caller, options));
  }

  replaceUpstream(
    key: SessionKey,
    generation: number,
    upstream: { upstreamSessionId: string | null; protocolVersion: string },
  ): Promise<boolean> {
    return this.#step((table) => rules.replaceUpstream(table, key, generation, upstream));
  }

  setLogLevel(key: SessionKey, params: string): Promise<void> {
    return this.#step((table) => rules.setLogLevel(table, key, params));
  }

  setSubscription(key: SessionKey, uri: string, subscribed: boolean): Promise<void> {
    return this.#step((table) => rules.setSubscription(table, key, uri, subscribed));
  }

  dropLists(key: SessionKey): Promise<void> {
    return this.#step((table) => rules.dropLists(table, key));
  }

  pin(key: SessionKey, baseline: Baseline): Promise<Baseline | undefined> {
    return this.#step((table) => rules.pin(table, key, baseline));
  }

  baseline(key: SessionKey): Promise<Baseline | undefined> {
    return this.#read(({ sessions }) => rules.pinned(sessions, key));
  }

  remove(key: SessionKey): Promise<SessionRecord | undefined> {
    return this.#step((table) => rules.remove(table, key));
  }

  invalidate(key: SessionKey, reason: string, expiresAt: number): Promise<boolean> {
    return this.#step((table) => rules.invalidate(table, key, reason, expiresAt));
  }

  expireIdle(options: {
    now: number;
    idleBefore: number;
    tombstoneUntil: number | null;
    limit: number;
  }): Promise<SessionRecord[]> {
    return this.#step((table) => rules.expireIdle(table, options));
  }

  expireWorkspaces(options: { now: number; idleBefore: number; limit: number }): Promise<SessionRecord[]> {
    return this.#stepOnAll((tables) => expireWorkspaces(tables, options));
  }

  expireTombstones(options: { now: number; limit: number }): Promise<SessionRecord[]> {
    return this.#step((table) => rules.expireTombstones(table, options));
  }

  active({ offset, limit }: { offset: number; limit: number }): Promise<SessionRecord[]> {
    return this.#step((table) => table.active(offset, limit).map(({ record }) => record));
  }

  counts(now: number): Promise<StateCounts> {
    return this.#step((table) => table.counts(now));
  }

  clear(): Promise<void> {
    return this.#stepOnAll(({ sessions, files, nonces }) => {
      files.clear();
      nonces.clear();
      sessions.clear();
    });
  }

  tryLock(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return this.#step((table) => rules.tryLock(table, name, { owner, ttlMs, now: Date.now() }));
  }

  unlock(name: string, owner: string): Promise<void> {
    return this.#step((table) => rules.unlock(table, name, owner));
  }

  lockHolder(name: string): Promise<string | undefined> {
    return this.#step((table) => rules.lockHolder(table, name, Date.now()));
  }

  /** Writes to the file, and makes sure that the file is still the one at its path. */
  ping(): Promise<void> {
    return this.#step((table) => {
      this.#connection.checkIdentity();
      table.probe(Date.now());
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#activityTimer);
    const saved = this.#connection.hasUnsavedActivity ? this.#step((table) => table.saveActivity()) : undefined;
    this.#commits.close();
    try {
      await saved;
    } finally {
      this.#connection.close();
    }
  }

  #step<T>(work: (table: SqliteSessionTable) => T): Promise<T> {
    return this.#stepOnAll(({ sessions }) => work(sessions));
  }

  #stepOnAll<T>(work: (tables: SqliteTables) => T): Promise<T> {
    return this.#commits.run(() => work(this.#connection.tables));
  }

  /** Reads at once, without a transaction. */
  async #read<T>(work: (tables: SqliteTables) => T): Promise<T> {
    try {
      const { tables } = this.#connection;
      tables.sessions.refresh();
      return work(tables);
    } catch (error) {
      const fault = sqliteFault(error);
      if (fault === 'busy') return this.#stepOnAll(work);
      throw fault === 'own' ? error : fileFailed(error);
    }
  }

  /** The result of a step that may have noted activity, which is then written soon. */
  async #withActivity<T>(step: Promise<T>): Promise<T> {
    const result = await step;
    if (this.#connection.hasUnsavedActivity) this.#saveActivityLater();
    return result;
  }

  #saveActivityLater(): void {
    this.#activityTimer ??= setTimeout(() => {
      this.#activityTimer = undefined;
      // When the file fails, the activity stays noted and the next enter tries again.
      this.#step((table) => table.saveActivity()).catch(() => undefined);
    }, ACTIVITY_FLUSH_MS).unref();
  }
}
