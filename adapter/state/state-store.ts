import type { Baseline } from '../catalog/baseline.ts';
import type { CallLimits, HeldPlaces, Refused, Taking } from './call-limits.ts';
import type { FileRecords } from './file-records.ts';
import type { FirstTexts } from './first-texts.ts';
import type { SessionRecord } from './session-fields.ts';
import type { SessionKey } from './session-key.ts';
import type { UploadNonces } from './upload-nonces.ts';

export type { SessionRecord } from './session-fields.ts';
export type { SessionKey } from './session-key.ts';

/**
 * The metadata of sessions, shared by all replicas. Every method is one atomic step: two replicas may call any two
 * of them at the same moment. Times are milliseconds since the epoch of the store's clock, `now`, and come in as arguments;
 * expiry that the technology enforces (Redis TTL) is only the safety net behind it.
 */
export interface StateStore {
  /** The clock that all replicas have in common: no time of a replica's own may be compared with what others stored. */
  now(): number;
  /** The files of sessions. */
  readonly files: FileRecords;
  /** Single-use permissions to upload. */
  readonly nonces: UploadNonces;
  /** What clients saw first of what upstreams say, where `pin` does not keep it. */
  readonly firstTexts: FirstTexts;
  /** Limits of calls outside of sessions; those of others are taken by `enter`. */
  readonly callLimits: CallLimits;
  /**
   * 256 random bits in base64url under a name, made by whoever asks first and the same for all replicas from then on;
   * they outlive a restart where the store does. For signing what the adapter hands out.
   */
  secret(name: string): Promise<string>;

  /**
   * Takes one of the `maxActive` places for a session that is about to be opened. The place counts until
   * `expiresAt`, so that a replica that dies while opening does not hold it for ever.
   * False: all places are taken (specification, section 7: HTTP 429).
   */
  reserve(key: SessionKey, options: { maxActive: number; now: number; expiresAt: number }): Promise<boolean>;
  /** Gives back a place taken by `reserve` that led to no session; harmless when there is none. */
  release(key: SessionKey): Promise<void>;
  /** Stores a new active session and turns its reservation, if any, into it. A session of the same key is replaced. */
  open(record: SessionRecord): Promise<void>;

  /** Reads a session. Another principal's session, an expired tombstone and an unknown id are all `unknown`. */
  find(key: SessionKey, caller: Caller): Promise<Found>;
  /** As `find`, and notes the activity, which is no call: an upload. */
  touch(key: SessionKey, caller: Caller): Promise<Found>;
  /**
   * Starts a tool call: reads the session, counts the call as in flight until `until` and notes the activity.
   * `limit`: `maxInFlight` calls are already running (expired leases do not count); that is no activity, as what limits
   * refuse is none. A lease id that is already there is extended, counts once, and takes nothing of limits.
   */
  enter(key: SessionKey, caller: Caller, call: EnteringCall): Promise<Found | { state: 'limit' } | Refused>;
  /** Extends the leases of calls that still run, which is activity. Leases that are gone stay gone. */
  renew(calls: readonly { key: SessionKey; lease: CallLease }[], now: number): Promise<void>;
  /**
   * Ends a tool call, gives its `places` back and notes the activity. Ending it twice is harmless. Without a limit on calls nobody
   * needs to wait for it before answering: SqliteStore takes some milliseconds, to share a commit with others.
   */
  leave(key: SessionKey, leaseId: string, now: number, places?: HeldPlaces['places']): Promise<void>;

  /**
   * Turns a tombstone that has not expired back into an active session, if `maxActive` allows it; reservations count
   * too. Any other session is returned as `find` would.
   */
  revive(key: SessionKey, caller: Caller, options: { maxActive: number | null }): Promise<Found | { state: 'limit' }>;
  /**
   * Replaces the upstream session if `generation` is still the stored one, and raises the generation by one.
   * False: another replica was faster, or the session is gone; read it again.
   */
  replaceUpstream(
    key: SessionKey,
    generation: number,
    upstream: { upstreamSessionId: string | null; protocolVersion: string },
  ): Promise<boolean>;
  /** Remembers what must be replayed to a new upstream session: the parameters of the last `logging/setLevel`. */
  setLogLevel(key: SessionKey, params: string): Promise<void>;
  /** Remembers, or forgets, one `resources/subscribe`; no more than 1,000 of a session, and no more than 64 KiB of URIs. */
  setSubscription(key: SessionKey, uri: string, subscribed: boolean): Promise<void>;
  /** Makes every cached list of this session stale, on every replica. Resolves when all later reads see it. */
  dropLists(key: SessionKey): Promise<void>;
  /**
   * Pins these tool definitions for an active session, unless it has a pin already, and returns what is pinned now:
   * of many at once one wins, for all of them. Undefined: there is no such active session. A pin lasts as long as its
   * session: over tombstone, revival and new upstream sessions, and not a moment longer.
   */
  pin(key: SessionKey, baseline: Baseline): Promise<Baseline | undefined>;
  /**
   * What is pinned for a session, also while it is a tombstone that may come back. Without its text where that was
   * longer than 64 Ki characters, and in an outage (`fallback_memory`) where this replica has not seen it.
   */
  baseline(key: SessionKey): Promise<Baseline | undefined>;

  /** Removes a session or tombstone with its leases. Returns what was removed. */
  remove(key: SessionKey): Promise<SessionRecord | undefined>;
  /**
   * Turns a session or a tombstone into a terminal tombstone: until `expiresAt` its id is refused with `reason`. Its
   * leases are dropped; the first reason and time stay. Returns false when there was no such session.
   */
  invalidate(key: SessionKey, reason: string, expiresAt: number): Promise<boolean>;
  /**
   * Ends up to `limit` active sessions whose last activity is before `idleBefore` and that have no call in flight.
   * With `tombstoneUntil` they become tombstones whose `upstreamSessionId` is ''; with null they are removed.
   * Returns the records as they were before. A session is returned to one caller only.
   */
  expireIdle(options: {
    now: number;
    idleBefore: number;
    tombstoneUntil: number | null;
    limit: number;
  }): Promise<SessionRecord[]>;
  /**
   * Removes up to `limit` active workspaces (`WORKSPACE_PROTOCOL`) whose last activity is before `idleBefore`, that
   * have no call in flight and hold no file, not even a pending one.
   */
  expireWorkspaces(options: { now: number; idleBefore: number; limit: number }): Promise<SessionRecord[]>;
  /** Removes up to `limit` tombstones of both kinds that have expired and returns their records. */
  expireTombstones(options: { now: number; limit: number }): Promise<SessionRecord[]>;

  /** Active sessions, those that were used last first, for who operates the adapter. One that is used meanwhile may come twice. */
  active(options: { offset: number; limit: number }): Promise<SessionRecord[]>;
  /** Counts for health and metrics: active sessions, tombstones of both kinds and leases that have not expired. */
  counts(now: number): Promise<StateCounts>;
  /**
   * Discards sessions, tombstones, reservations, leases, the records of files and nonces, but neither locks,
   * secrets, first texts nor limits (specification 2.3, `refresh_on_startup`).
   */
  clear(): Promise<void>;

  /**
   * Takes the named lock for `ttlMs`, or extends it when `owner` holds it already. False: somebody else has it.
   * Short critical sections only; the holder must finish within the time or extend. Locks run on the store's clock.
   */
  tryLock(name: string, owner: string, ttlMs: number): Promise<boolean>;
  /** Releases the lock if `owner` still holds it. */
  unlock(name: string, owner: string): Promise<void>;
  /** Who holds the named lock now. */
  lockHolder(name: string): Promise<string | undefined>;

  /** Writes something. Fails with StoreUnavailable when the technology behind the store does not answer or write. */
  ping(): Promise<void>;
  /** Flushes what is pending and frees everything. */
  close(): Promise<void>;
}

/** Who asks, and when. `principal` is '' when authentication is off. */
export interface Caller {
  readonly principal: string;
  readonly now: number;
}

/** A tool call that counts as in flight until `until`. `id` is unique among all replicas. */
export interface CallLease {
  readonly id: string;
  readonly until: number;
}

export interface EnteringCall extends CallLease {
  readonly maxInFlight: number | null;
  /** The call is not counted as in flight; there is nothing to leave. */
  readonly isUncounted?: boolean;
  /** What else it takes; its places are held under the id of the lease. */
  readonly taking?: Taking | undefined;
}

export type Found =
  | { readonly state: 'active'; readonly record: SessionRecord }
  | { readonly state: 'tombstoned'; readonly record: SessionRecord; readonly expiresAt: number }
  | { readonly state: 'invalidated'; readonly reason: string; readonly expiresAt: number }
  | { readonly state: 'unknown' };

export interface StateCounts {
  readonly sessions: number;
  readonly tombstones: number;
  readonly inFlight: number;
}

/**
 * The technology behind the store failed: no connection, a timeout, a full disk, a server that refuses writes.
 * Never raised for a request's own fault. `state_persistence.unavailable_policy` decides what follows.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
