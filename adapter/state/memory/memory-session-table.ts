import type { Baseline } from '../../catalog/baseline.ts';
import { BaselineTexts } from './baseline-texts.ts';
import type { Lock, SessionRow, SessionTable } from '../tables/session-table.ts';
import type { SessionKey, SessionRecord, StateCounts } from '../state-store.ts';
import { isTerminal, keyText, WORKSPACE_PROTOCOL } from '../stored-session.ts';
import type { Ending, StoredSession } from '../stored-session.ts';
import { Interner } from './interner.ts';

/** What a session without running calls has; shared, so that idle sessions stay small. */
const NO_LEASES: ReadonlyMap<string, number> = new Map();

interface Row extends SessionRow {
  record: SessionRecord;
  ending: Ending | null;
  leases: ReadonlyMap<string, number>;
}

/** Sessions in maps. Without timers: what has expired goes when somebody looks. */
export class MemorySessionTable implements SessionTable {
  readonly #active = new Map<string, Row>();
  readonly #ended = new Map<string, Row>();
  /** The sessions that have leases, so that counting calls does not visit every session. */
  readonly #leases = new Map<SessionRow, Map<string, number>>();
  readonly #workspaces = new Set<Row>();
  readonly #reservations = new Map<string, number>();
  readonly #locks = new Map<string, Lock>();
  readonly #strings = new Interner();
  readonly #baselines = new BaselineTexts();
  /** Every server that ever had sessions: there are few, and they stay. */
  readonly #servers = new Set<string>();
  readonly #onEnded: (key: SessionKey) => void;

  /** `onEnded` is told of sessions that were removed or invalidated. */
  constructor(onEnded: (key: SessionKey) => void) {
    this.#onEnded = onEnded;
  }

  get(key: SessionKey): Row | undefined {
    const text = keyText(key);
    return this.#active.get(text) ?? this.#ended.get(text);
  }

  ofId(sessionId: string): Row[] {
    const rows = [...this.#servers].map((serverId) => this.get({ serverId, sessionId }));
    return rows.filter((row) => row !== undefined);
  }

  put({ record, ending }: StoredSession): void {
    // Before the session that is replaced lets go of what may be the same.
    const baseline = this.#baselines.acquire(record.baseline);
    const previous = this.get(record);
    if (previous !== undefined) this.#remove(previous);
    this.#servers.add(record.serverId);
    const shared = {
      ...record,
      principal: this.#strings.acquire(record.principal),
      initializeParams: this.#strings.acquire(record.initializeParams),
      baseline,
    };
    const home = ending === null ? this.#active : this.#ended;
    const row: Row = { record: shared, ending, leases: NO_LEASES };
    home.set(keyText(record), row);
    if (record.protocolVersion === WORKSPACE_PROTOCOL) this.#workspaces.add(row);
  }

  change(row: Row, changes: Partial<Omit<SessionRecord, 'baseline'>>): void {
    row.record = { ...row.record, ...changes };
  }

  pin(row: Row, { fingerprint, text }: Baseline): void {
    const baseline = this.#baselines.acquire(fingerprint);
    this.#baselines.learn(fingerprint, text);
    this.#baselines.release(row.record.baseline);
    row.record = { ...row.record, baseline };
  }

  baselineText(fingerprint: string): string {
    return this.#baselines.get(fingerprint);
  }

  touch(row: Row, now: number): void {
    row.record = { ...row.record, lastActiveAt: now };
  }

  end(row: Row, ending: Ending | null): void {
    const text = keyText(row.record);
    this.#dropLeases(row);
    this.#active.delete(text);
    this.#ended.delete(text);
    row.ending = ending;
    (ending === null ? this.#active : this.#ended).set(text, row);
    if (isTerminal(row)) this.#onEnded(row.record);
  }

  delete(row: Row): void {
    this.#remove(row);
    this.#onEnded(row.record);
  }

  #remove(row: Row): void {
    this.#workspaces.delete(row);
    const text = keyText(row.record);
    this.#dropLeases(row);
    this.#active.delete(text);
    this.#ended.delete(text);
    this.#strings.release(row.record.principal);
    this.#strings.release(row.record.initializeParams);
    this.#baselines.release(row.record.baseline);
  }

  setLease(row: Row, id: string, until: number): void {
    const leases = this.#leases.get(row);
    if (leases !== undefined) {
      leases.set(id, until);
      return;
    }
    const first = new Map([[id, until]]);
    this.#leases.set(row, first);
    row.leases = first;
  }

  dropLease(row: Row, id: string): void {
    const leases = this.#leases.get(row);
    if (leases?.delete(id) && leases.size === 0) this.#dropLeases(row);
  }

  dropExpiredLeases(row: Row, now: number): void {
    for (const [id, until] of row.leases) if (until <= now) this.dropLease(row, id);
  }

  placesTaken(now: number): number {
    for (const [text, expiresAt] of this.#reservations) if (expiresAt <= now) this.#reservations.delete(text);
    return this.#active.size + this.#reservations.size;
  }

  setReservation(key: SessionKey, expiresAt: number): void {
    this.#reservations.set(keyText(key), expiresAt);
  }

  dropReservation(key: SessionKey): void {
    this.#reservations.delete(keyText(key));
  }

  idle(idleBefore: number, now: number, limit: number): Row[] {
    const idle: Row[] = [];
    for (const row of this.#active.values()) {
      if (idle.length >= limit) break;
      if (row.record.lastActiveAt >= idleBefore) continue;
      this.dropExpiredLeases(row, now);
      if (row.leases.size === 0) idle.push(row);
    }
    return idle;
  }

  *idleWorkspaces(idleBefore: number, now: number): Generator<Row, void> {
    for (const row of this.#workspaces) {
      if (row.ending !== null || row.record.lastActiveAt >= idleBefore) continue;
      this.dropExpiredLeases(row, now);
      if (row.leases.size === 0) yield row;
    }
  }

  expired(now: number, limit: number): Row[] {
    const expired: Row[] = [];
    for (const row of this.#ended.values()) {
      if (expired.length >= limit) break;
      if (row.ending !== null && row.ending.expiresAt <= now) expired.push(row);
    }
    return expired;
  }

  active(offset: number, limit: number): Row[] {
    const rows = [...this.#active.values()];
    rows.sort((a, b) => b.record.lastActiveAt - a.record.lastActiveAt);
    return rows.slice(offset, offset + limit);
  }

  counts(now: number): StateCounts {
    let tombstones = 0;
    for (const { ending } of this.#ended.values()) if (ending !== null && ending.expiresAt > now) tombstones += 1;
    let inFlight = 0;
    for (const leases of this.#leases.values()) for (const until of leases.values()) if (until > now) inFlight += 1;
    return { sessions: this.#active.size, tombstones, inFlight };
  }

  clear(): void {
    for (const row of this.all()) this.delete(row);
    this.#reservations.clear();
  }

  lock(name: string): Lock | undefined {
    return this.#locks.get(name);
  }

  setLock(name: string, lock: Lock | undefined): void {
    if (lock === undefined) this.#locks.delete(name);
    else this.#locks.set(name, lock);
  }

  dropExpiredLocks(now: number): void {
    for (const [name, { until }] of this.#locks) if (until <= now) this.#locks.delete(name);
  }

  /** The texts of the baselines that sessions have, by fingerprint. */
  baselines(): Map<string, string> {
    return this.#baselines.all();
  }

  /** Takes in the texts of baselines that sessions have. */
  learnBaselines(texts: Iterable<readonly [fingerprint: string, text: string]>): void {
    for (const [fingerprint, text] of texts) this.#baselines.learn(fingerprint, text);
  }

  all(): Row[] {
    return [...this.#active.values(), ...this.#ended.values()];
  }

  #dropLeases(row: Row): void {
    this.#leases.delete(row);
    row.leases = NO_LEASES;
  }
}
