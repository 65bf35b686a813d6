import type { Baseline } from '../../catalog/baseline.ts';
import type { SessionKey, SessionRecord, StateCounts } from '../state-store.ts';
import type { Ending, StoredSession } from '../stored-session.ts';

/** A stored session while a step works on it. Only the table changes it. */
export interface SessionRow extends StoredSession {
  /** Lease id → until, in milliseconds. May hold leases that have expired. */
  readonly leases: ReadonlyMap<string, number>;
}

/**
 * Where the sessions of a store that lives in this process are kept. The steps of `session-rules.ts` decide on it;
 * nothing else runs while one of them does. Methods that take a row take one that `get`, `idle` or `expired` returned
 * within the same step.
 */
export interface SessionTable {
  get(key: SessionKey): SessionRow | undefined;
  /** The sessions with this id, whatever their servers. */
  ofId(sessionId: string): SessionRow[];
  /** Adds a session without leases; replaces one of the same key. */
  put(session: StoredSession): void;
  /** Changes anything but the baseline. */
  change(row: SessionRow, changes: Partial<Omit<SessionRecord, 'baseline'>>): void;
  /** Pins a baseline for a session; its text is kept once for all sessions that have the same. */
  pin(row: SessionRow, baseline: Baseline): void;
  /** The text of a baseline that a session has; '' when only its fingerprint is known. */
  baselineText(fingerprint: string): string;
  /** Sets `lastActiveAt`; may be written later than other changes, but never seen later in this process. */
  touch(row: SessionRow, now: number): void;
  /** Makes a session a tombstone and drops its leases, or, with null, makes it active again. */
  end(row: SessionRow, ending: Ending | null): void;
  delete(row: SessionRow): void;

  setLease(row: SessionRow, id: string, until: number): void;
  dropLease(row: SessionRow, id: string): void;
  dropExpiredLeases(row: SessionRow, now: number): void;

  /** Active sessions and reservations that have not expired. */
  placesTaken(now: number): number;
  setReservation(key: SessionKey, expiresAt: number): void;
  dropReservation(key: SessionKey): void;

  /** Up to `limit` active sessions with `lastActiveAt` before `idleBefore` and no lease after `now`. */
  idle(idleBefore: number, now: number, limit: number): SessionRow[];
  /** Active workspaces with `lastActiveAt` before `idleBefore` and no lease after `now`. */
  idleWorkspaces(idleBefore: number, now: number): Iterable<SessionRow>;
  /** Up to `limit` tombstones of both kinds that have expired. */
  expired(now: number, limit: number): SessionRow[];
  /** Active sessions, those that were used last first. */
  active(offset: number, limit: number): SessionRow[];
  counts(now: number): StateCounts;
  clear(): void;

  lock(name: string): Lock | undefined;
  setLock(name: string, lock: Lock | undefined): void;
  dropExpiredLocks(now: number): void;
}

export interface Lock {
  readonly owner: string;
  readonly until: number;
}
