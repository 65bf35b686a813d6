import type { DatabaseSync, StatementSync } from 'node:sqlite';

import { LRUCache } from 'lru-cache';

import type { Baseline } from '../../catalog/baseline.ts';
import { CHANGING_NAMES, FIELD_NAMES, storedValue } from '../session-fields.ts';
import type { Lock, SessionRow, SessionTable } from '../tables/session-table.ts';
import { number, text } from './sqlite-columns.ts';
import type { Columns } from './sqlite-columns.ts';
import { sessionStatements, storedSession } from './sqlite-session-statements.ts';
import type { SessionKey, SessionRecord, StateCounts } from '../state-store.ts';
import { isTerminal, keyText } from '../stored-session.ts';
import type { Ending, StoredSession } from '../stored-session.ts';

interface Row extends SessionRow {
  /** Never used again for another session, also not after a removal. */
  readonly id: number;
  record: SessionRecord;
  ending: Ending | null;
  readonly leases: Map<string, number>;
  /** `lastActiveAt` as the file has it. */
  savedActiveAt: number;
}

/** Activity is written at most this often per session; until then other processes see the older time. */
const ACTIVITY_INTERVAL_MS = 1_000;
const CACHED_ROWS = 20_000;
const SHARED_TEXTS = 1_000;

/**
 * Sessions in a SQLite file. Rows that were read stay cached until another connection commits, which
 * `PRAGMA data_version` tells: with one process on the file, reads cost no query, and with several they stay right.
 * Every method may throw what SQLite throws; after a rollback call `forget`.
 */
export class SqliteSessionTable implements SessionTable {
  readonly #sql: ReturnType<typeof sessionStatements>;
  readonly #rows = new LRUCache<string, Row>({ max: CACHED_ROWS });
  /** Row id → activity that is not in the file yet. Survives `forget`: the file does not know it. */
  readonly #activity: Map<number, number>;
  /** Row id → activity that this transaction writes. */
  readonly #written = new Map<number, number>();
  /** One copy of each text that many cached rows carry. */
  readonly #shared = new LRUCache<string, string>({ max: SHARED_TEXTS });
  readonly #onEnded: (key: SessionKey) => void;
  #activeRows: number | undefined;
  #dataVersion: unknown;

  /**
   * `activity` outlives the table when the file is opened again. `onEnded` is told of sessions that were removed or
   * invalidated, within the same transaction.
   */
  constructor(
    database: DatabaseSync,
    activity: Map<number, number>,
    onEnded: (key: SessionKey) => void = () => undefined,
  ) {
    this.#sql = sessionStatements(database);
    this.#activity = activity;
    this.#onEnded = onEnded;
  }

  /** Drops what another connection may have changed. Call it before every read or step. */
  refresh(): void {
    const version = this.#sql.dataVersion.get()?.['data_version'];
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.forget();
  }

  /** Drops everything that was read, and what the transaction that is undone has written. */
  forget(): void {
    this.#rows.clear();
    this.#written.clear();
    this.#activeRows = undefined;
  }

  /** Call it after each commit. */
  committed(): void {
    for (const [id, at] of this.#written) if ((this.#activity.get(id) ?? 0) <= at) this.#activity.delete(id);
    this.#written.clear();
  }

  /** Writes the activity that was held back. */
  saveActivity(): void {
    for (const [id, at] of this.#activity) this.#saveActivity(id, at);
    for (const row of this.#rows.values()) row.savedActiveAt = this.#written.get(row.id) ?? row.savedActiveAt;
  }

  get(key: SessionKey): Row | undefined {
    const cacheKey = keyText(key);
    const cached = this.#rows.get(cacheKey);
    if (cached !== undefined) return cached;
    const columns = this.#sql.select.get(key.serverId, key.sessionId);
    return columns === undefined ? undefined : this.#cache(cacheKey, columns);
  }

  ofId(sessionId: string): Row[] {
    return this.#all(this.#sql.selectId.all(sessionId));
  }

  put(session: StoredSession): void {
    const previous = this.get(session.record);
    if (previous !== undefined) this.#remove(previous);
    this.add(session);
  }

  /** As `put`, for a session that is not there. */
  add({ record, ending }: StoredSession): void {
    this.#sql.insert.run(
      record.serverId,
      record.sessionId,
      ...FIELD_NAMES.map((name) => storedValue(record, name)),
      ending?.expiresAt ?? null,
      ending?.reason ?? null,
    );
    if (ending === null && this.#activeRows !== undefined) this.#activeRows += 1;
  }

  change(row: Row, changes: Partial<Omit<SessionRecord, 'baseline'>>): void {
    const record = { ...row.record, ...changes };
    this.#sql.update.run(...CHANGING_NAMES.map((name) => storedValue(record, name)), row.id);
    row.record = record;
    row.savedActiveAt = record.lastActiveAt;
    this.#written.set(row.id, record.lastActiveAt);
  }

  pin(row: Row, baseline: Baseline): void {
    this.addBaseline(baseline);
    this.#sql.setBaseline.run(baseline.fingerprint, row.id);
    row.record = { ...row.record, baseline: this.#share(baseline.fingerprint) };
  }

  baselineText(fingerprint: string): string {
    const columns = this.#sql.selectBaseline.get(fingerprint);
    return columns === undefined ? '' : text(columns['text']);
  }

  /** The texts of all baselines, by fingerprint. */
  baselines(): Map<string, string> {
    const rows = this.#sql.selectBaselines.all();
    return new Map(rows.map((columns) => [text(columns['fingerprint']), text(columns['text'])]));
  }

  /** Adds the text of a baseline if it is not there. */
  addBaseline(baseline: Baseline): void {
    this.#sql.addBaseline.run(baseline.fingerprint, baseline.text);
  }

  touch(row: Row, now: number): void {
    row.record = { ...row.record, lastActiveAt: now };
    if (now - row.savedActiveAt < ACTIVITY_INTERVAL_MS) {
      this.#activity.set(row.id, now);
      return;
    }
    this.#saveActivity(row.id, now);
    row.savedActiveAt = now;
  }

  end(row: Row, ending: Ending | null): void {
    this.#dropLeases(row);
    this.#sql.end.run(ending?.expiresAt ?? null, ending?.reason ?? null, row.id);
    if (this.#activeRows !== undefined) this.#activeRows += Number(ending === null) - Number(row.ending === null);
    row.ending = ending;
    if (isTerminal(row)) this.#onEnded(row.record);
  }

  delete(row: Row): void {
    this.#remove(row);
    this.#onEnded(row.record);
  }

  #remove(row: Row): void {
    this.#dropLeases(row);
    this.#sql.delete.run(row.id);
    if (row.record.baseline !== null) this.#sql.dropUnusedBaseline.run(row.record.baseline);
    this.#rows.delete(keyText(row.record));
    this.#activity.delete(row.id);
    if (row.ending === null && this.#activeRows !== undefined) this.#activeRows -= 1;
  }

  setLease(row: Row, id: string, until: number): void {
    this.#sql.setLease.run(row.id, id, until);
    row.leases.set(id, until);
  }

  dropLease(row: Row, id: string): void {
    this.#sql.dropLease.run(row.id, id);
    row.leases.delete(id);
  }

  dropExpiredLeases(row: Row, now: number): void {
    for (const [id, until] of row.leases) if (until <= now) this.dropLease(row, id);
  }

  placesTaken(now: number): number {
    this.#sql.dropExpiredReservations.run(now);
    this.#activeRows ??= count(this.#sql.countActive);
    return this.#activeRows + count(this.#sql.countReservations);
  }

  setReservation(key: SessionKey, expiresAt: number): void {
    this.#sql.setReservation.run(key.serverId, key.sessionId, expiresAt);
  }

  dropReservation(key: SessionKey): void {
    this.#sql.dropReservation.run(key.serverId, key.sessionId);
  }

  idle(idleBefore: number, now: number, limit: number): Row[] {
    this.saveActivity();
    return this.#all(this.#sql.selectIdle.all(idleBefore, now, limit));
  }

  *idleWorkspaces(idleBefore: number, now: number): Generator<Row, void> {
    this.saveActivity();
    for (const columns of this.#sql.selectIdleWorkspaces.iterate(idleBefore, now)) yield* this.#all([columns]);
  }

  expired(now: number, limit: number): Row[] {
    return this.#all(this.#sql.selectExpired.all(now, limit));
  }

  active(offset: number, limit: number): Row[] {
    this.saveActivity();
    return this.#all(this.#sql.selectActive.all(limit, offset));
  }

  counts(now: number): StateCounts {
    this.#activeRows ??= count(this.#sql.countActive);
    return {
      sessions: this.#activeRows,
      tombstones: count(this.#sql.countTombstones, now),
      inFlight: count(this.#sql.countLeases, now),
    };
  }

  clear(): void {
    this.#sql.clearLeases.run();
    this.#sql.clearReservations.run();
    this.#sql.clearSessions.run();
    this.#sql.clearBaselines.run();
    this.#activity.clear();
    this.forget();
  }

  lock(name: string): Lock | undefined {
    const columns = this.#sql.selectLock.get(name);
    return columns === undefined ? undefined : { owner: text(columns['owner']), until: number(columns['until']) };
  }

  setLock(name: string, lock: Lock | undefined): void {
    if (lock === undefined) this.#sql.dropLock.run(name);
    else this.#sql.setLock.run(name, lock.owner, lock.until);
  }

  dropExpiredLocks(now: number): void {
    this.#sql.dropExpiredLocks.run(now);
  }

  /** Everything in the file, for reading a snapshot. */
  all(): StoredSession[] {
    return this.#sql.selectAll.all().map((columns) => storedSession(columns));
  }

  /** Writes something, so that a file that can only be read is noticed. */
  probe(now: number): void {
    this.#sql.probe.run(now);
  }

  #all(rows: Columns[]): Row[] {
    return rows.map((columns) => {
      const key = keyText({ serverId: text(columns['server_id']), sessionId: text(columns['session_id']) });
      return this.#rows.get(key) ?? this.#cache(key, columns);
    });
  }

  #cache(key: string, columns: Columns): Row {
    const { record, ending } = storedSession(columns);
    const initializeParams = this.#share(record.initializeParams);
    const baseline = record.baseline === null ? null : this.#share(record.baseline);
    const id = number(columns['id']);
    const row: Row = {
      id,
      record: {
        ...record,
        initializeParams,
        baseline,
        lastActiveAt: Math.max(record.lastActiveAt, this.#activity.get(id) ?? 0),
      },
      ending,
      leases: new Map(this.#sql.selectLeases.all(id).map((lease) => [text(lease['id']), number(lease['until'])])),
      savedActiveAt: record.lastActiveAt,
    };
    this.#rows.set(key, row);
    return row;
  }

  #share(text: string): string {
    const shared = this.#shared.get(text);
    if (shared !== undefined) return shared;
    this.#shared.set(text, text);
    return text;
  }

  #saveActivity(id: number, at: number): void {
    this.#sql.touch.run(at, id);
    this.#written.set(id, at);
  }

  #dropLeases(row: Row): void {
    if (row.leases.size === 0) return;
    this.#sql.dropLeases.run(row.id);
    row.leases.clear();
  }
}

const count = (statement: StatementSync, ...values: number[]): number => Number(statement.get(...values)?.['n']);
