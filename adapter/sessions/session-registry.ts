import { randomBytes } from 'node:crypto';

import { AdapterError } from '../errors.ts';
import { SwapRemoveSet, type Slotted } from '../exchange/swap-remove-set.ts';
import type { HeldPlaces, Refused, Taking } from '../state/call-limits.ts';
import type { Found, SessionKey, SessionRecord, StateStore } from '../state/state-store.ts';
import { limitRefusal } from './limit-refusal.ts';
import { noTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { isWorkspace } from './workspace.ts';

/** What `sessions` of the configuration says, in milliseconds. */
export interface SessionLimits {
  readonly maxActive: number | null;
  readonly maxInFlight: number | null;
  /** Null: sessions never expire by idling. */
  readonly idleTtlMs: number | null;
}

/** A tool call that counts as in flight on this replica. */
export interface Lease extends Slotted, HeldPlaces {
  /** Undefined: it belongs to no session. */
  readonly key: SessionKey | undefined;
}

/** A dead replica's calls stop counting after this long; living ones are extended three times as often. */
const LEASE_MS = 30_000;
const RENEW_MS = LEASE_MS / 3;
/** Generous: some servers start something when a session is opened. */
export const INITIALIZE_TIMEOUT_MS = 300_000;
/** A place is held while its session may still be opened, also by a store that is slow; after that its replica is dead. */
const RESERVATION_MS = INITIALIZE_TIMEOUT_MS + 30_000;
/** How exact the time of the last activity is where no limit depends on it. */
const COARSE_ACTIVITY_MS = 60_000;
const NO_LIMITS: Taking = { rates: [], places: [] };
const SESSION_ID = /^[0-9a-f]{32}$/;

const ID_BYTES = 16;
/** Random bytes for the next ids: asking the system once for many is cheaper. Each byte is used once. */
let randomPool = Buffer.alloc(0);

/** A session id: 128 random bits, safe as a header, a path segment and a folder name. */
export function newSessionId(): string {
  if (randomPool.length === 0) randomPool = randomBytes(256 * ID_BYTES);
  const id = randomPool.toString('hex', 0, ID_BYTES);
  randomPool = randomPool.subarray(ID_BYTES);
  return id;
}

/**
 * Sessions as requests see them: found, counted, revived, ended; every refusal is an AdapterError.
 * Nothing is kept here but the leases of the calls that run on this replica.
 */
export class SessionRegistry {
  readonly #store: StateStore;
  readonly #limits: SessionLimits;
  readonly #telemetry: Pick<Telemetry, 'session' | 'limited'>;
  readonly #replica = randomBytes(6).toString('base64url');
  readonly #leases = new SwapRemoveSet<Lease>();
  readonly #timer: NodeJS.Timeout;
  #counter = 0;

  constructor(
    store: StateStore,
    limits: SessionLimits,
    telemetry: Pick<Telemetry, 'session' | 'limited'> = noTelemetry,
  ) {
    this.#store = store;
    this.#limits = limits;
    this.#telemetry = telemetry;
    this.#timer = setInterval(() => this.#renew(), RENEW_MS).unref();
  }

  /** Takes a place for a new session. Throws `sessions_limit` (specification, section 7). */
  async reserve(key: SessionKey): Promise<void> {
    const { maxActive } = this.#limits;
    if (maxActive === null) return;
    const now = this.#store.now();
    const free = await this.#store.reserve(key, { maxActive, now, expiresAt: now + RESERVATION_MS });
    if (!free) throw limitReached(maxActive);
  }

  /** Gives the place back when no session came of it. */
  async release(key: SessionKey): Promise<void> {
    if (this.#limits.maxActive !== null) await this.#store.release(key);
  }

  async open(record: SessionRecord): Promise<void> {
    await this.#store.open(record);
    const { serverId, principal } = record;
    this.#telemetry.session({ serverId, event: 'created' });
    if (principal !== '') this.#telemetry.session({ serverId, event: 'auth_context_bound' });
  }

  /** Reads the session of a request; a tombstone is revived. Throws `session_not_found`, `sessions_limit` and kin. */
  async find(serverId: string, sessionId: string, principal: string): Promise<SessionRecord> {
    if (!SESSION_ID.test(sessionId)) throw new AdapterError('session_not_found');
    const key = { serverId, sessionId };
    const caller = { principal, now: this.#store.now() };
    const found = await this.#store.find(key, caller);
    if (found.state === 'active') return found.record;
    if (found.state !== 'tombstoned') throw refusal(found);
    const revived = await this.#store.revive(key, caller, { maxActive: this.#limits.maxActive });
    if (revived.state === 'active') {
      this.#telemetry.session({ serverId, event: 'revived' });
      return revived.record;
    }
    if (revived.state === 'limit') throw limitReached(this.#limits.maxActive);
    throw refusal(revived);
  }

  /**
   * Starts a tool call in the session: as `find`, and counts it until `leave`. Throws also `in_flight_limit`, and as `admit`
   * for what else it takes. Where neither a limit nor idle expiry asks for the count, no lease is taken, but once a minute
   * for the activity, and in workspaces.
   */
  async enter(
    serverId: string,
    sessionId: string,
    principal: string,
    taking?: Taking,
  ): Promise<{ record: SessionRecord; lease: Lease | undefined }> {
    if (!SESSION_ID.test(sessionId)) throw new AdapterError('session_not_found');
    const places = taking?.places ?? [];
    const isUncounted = this.#limits.maxInFlight === null && this.#limits.idleTtlMs === null && places.length === 0;
    if (isUncounted && taking === undefined) {
      const now = this.#store.now();
      const found = await this.#store.find({ serverId, sessionId }, { principal, now });
      const isRecent = found.state === 'active' && now - found.record.lastActiveAt < COARSE_ACTIVITY_MS;
      // Workspaces expire by idling, whatever the limits are.
      if (isRecent && !isWorkspace(found.record)) {
        return { record: found.record, lease: undefined };
      }
    }
    const key = { serverId, sessionId };
    const lease: Lease = { slot: -1, key, id: this.#newId(), places };
    const { maxInFlight } = this.#limits;
    // Where nothing is limited, the lease is for the activity.
    const counts = { maxInFlight, taking, isUncounted: isUncounted && taking !== undefined };
    for (let attempt = 0; ; attempt++) {
      const now = this.#store.now();
      const found = await this.#store.enter(
        key,
        { principal, now },
        { ...counts, id: lease.id, until: now + LEASE_MS },
      );
      if (found.state === 'active') {
        if (counts.isUncounted) return { record: found.record, lease: undefined };
        this.#leases.add(lease);
        return { record: found.record, lease };
      }
      if (found.state === 'rate' || found.state === 'places') throw this.#refused(serverId, taking, found);
      if (found.state === 'limit') {
        const detail = `The session has ${this.#limits.maxInFlight} tool calls in flight, which is the maximum.`;
        throw new AdapterError('in_flight_limit', detail, { retryAfter: 1 });
      }
      if (found.state !== 'tombstoned' || attempt > 0) throw refusal(found);
      await this.find(serverId, sessionId, principal);
    }
  }

  /**
   * Starts calls outside of sessions. Throws `rate_limited` and `concurrency_limited`. Undefined where there is nothing to
   * leave at their end.
   */
  async admit(serverId: string, taking: Taking): Promise<Lease | undefined> {
    if (taking.rates.length + taking.places.length === 0) return undefined;
    const lease: Lease = { slot: -1, key: undefined, id: this.#newId(), places: taking.places };
    const now = this.#store.now();
    const refused = await this.#store.callLimits.take({ id: lease.id, until: now + LEASE_MS, taking }, now);
    if (refused !== undefined) throw this.#refused(serverId, taking, refused);
    if (taking.places.length === 0) return undefined;
    this.#leases.add(lease);
    return lease;
  }

  /**
   * As `find`, and notes the activity: an upload (specification 2.5). It counts as no call in flight. Where no limit or
   * idle time depends on it, the activity is kept to the minute.
   */
  async touch(serverId: string, sessionId: string, principal: string): Promise<SessionRecord> {
    const record = await this.find(serverId, sessionId, principal);
    const now = this.#store.now();
    if (this.#limits.idleTtlMs === null && now - record.lastActiveAt < COARSE_ACTIVITY_MS) return record;
    const touched = await this.#store.touch({ serverId, sessionId }, { principal, now });
    // It may have ended since it was found.
    if (touched.state !== 'active') throw refusal(touched);
    return touched.record;
  }

  /** Whether a session may have only so many tool calls in flight. */
  get limitsCalls(): boolean {
    return this.#limits.maxInFlight !== null;
  }

  /** Ends a tool call. With a limit the caller must wait, so that the client's next call finds the place free. */
  leave(lease: Lease): Promise<void> | undefined {
    if (!this.#leases.delete(lease)) return undefined;
    const { key, id, places } = lease;
    const leaving =
      key === undefined ? this.#store.callLimits.leave(lease) : this.#store.leave(key, id, this.#store.now(), places);
    const left = leaving.catch(() => {
      // The lease expires by itself; the client's answer is not held up by a store that is down.
    });
    return this.#limits.maxInFlight === null && places.length === 0 ? undefined : left;
  }

  /** Ends the session. Returns what it was, undefined when it is unknown to this caller. */
  async remove(serverId: string, sessionId: string, principal: string): Promise<SessionRecord | undefined> {
    if (!SESSION_ID.test(sessionId)) return undefined;
    const key = { serverId, sessionId };
    const found = await this.#store.find(key, { principal, now: this.#store.now() });
    if (found.state !== 'active' && found.state !== 'tombstoned') return undefined;
    return this.#store.remove(key);
  }

  /** Tool calls that run on this replica now. */
  get inFlight(): number {
    return this.#leases.size;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #renew(): void {
    if (this.#leases.size === 0) return;
    const now = this.#store.now();
    const until = now + LEASE_MS;
    const leases = this.#leases.values();
    const calls = leases.flatMap(({ key, id }) => (key === undefined ? [] : [{ key, lease: { id, until } }]));
    const held = leases.filter(({ places }) => places.length > 0);
    const renewed = [
      ...(calls.length > 0 ? [this.#store.renew(calls, now)] : []),
      ...(held.length > 0 ? [this.#store.callLimits.renew(held, until)] : []),
    ];
    // What failed is tried again at the next turn, twice before a lease ends.
    void Promise.allSettled(renewed);
  }

  #newId(): string {
    return `${this.#replica}${(this.#counter++).toString(36)}`;
  }

  #refused(serverId: string, { rates, places }: Taking = NO_LIMITS, refused: Refused): AdapterError {
    const [limits, limit] = refused.state === 'rate' ? [rates, 'rate' as const] : [places, 'concurrent' as const];
    const { per } = limits[refused.index] ?? { per: 'server' };
    this.#telemetry.limited({ serverId, per, limit });
    return limitRefusal({ rates, places }, refused);
  }
}

function refusal(found: Exclude<Found, { state: 'active' }>): AdapterError {
  if (found.state !== 'invalidated') return new AdapterError('session_not_found');
  return new AdapterError('session_invalidated', `The session was invalidated (${found.reason}); initialize again.`);
}

function limitReached(maxActive: number | null): AdapterError {
  const detail = `The maximum of ${maxActive} active sessions is reached; try again when one has ended.`;
  return new AdapterError('sessions_limit', detail, { retryAfter: 10 });
}
