import type { RedisReply } from '../../../lib/redis/redis-script.ts';
import type { Baseline } from '../../catalog/baseline.ts';
import type { HeldPlaces, Refused } from '../call-limits.ts';
import { callsOf, keysOf, placeKeys, RedisCallLimits, refusedOf, valuesOf } from './redis-call-limits.ts';
import { LUA, SESSION_FIELDS, type StoreScript } from './lua-scripts.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisFileSteps } from './redis-file-steps.ts';
import { RedisFiles } from './redis-files.ts';
import type { RedisKeySpace } from './redis-key-space.ts';
import { RedisKeys } from './redis-keys.ts';
import { RedisFirstTexts } from './redis-first-texts.ts';
import { RedisNonces } from './redis-nonces.ts';
import { FILES_GRACE_MS, RedisSessionSweeps, TOMBSTONE_GRACE_MS } from './redis-session-sweeps.ts';
import * as scripts from './redis-scripts.ts';
import { decodeBaseline, decodeSession, encodeSession, renewedAt } from './redis-session.ts';
import { newSecret } from '../secret.ts';
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
import { StoreClock } from './store-clock.ts';
import { kept, MAX_SUBSCRIPTION_TEXT, MAX_SUBSCRIPTIONS, seenBy, WORKSPACE_PROTOCOL } from '../stored-session.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PROBE_TTL_MS = 60_000;
/** What was signed with a secret, such as a link to an artifact, holds as long as the secret. */
const SECRET_TTL_MS = 365 * DAY_MS;
const PAGE = 100;

export interface RedisStoreOptions {
  /** `state_persistence.redis.key_base`. */
  readonly keyBase: string;
  /** When Redis forgets a session that nobody touches: the safety net behind `expireIdle`. Default: 30 days. */
  readonly sessionTtlMs?: number;
  /** Told at each health check that the keys are in use, before anything is done with them. */
  readonly keySpace?: Pick<RedisKeySpace, 'claim' | 'release'>;
  /** Reads the server's at each health check and with each new connection. */
  readonly clock?: StoreClock;
}

/**
 * Sessions in Redis or Valkey 7 and newer, shared by all replicas. Each step is one script and one round trip, but
 * for the cleanups, which take one for each session. Requests of one turn of the event loop are sent together.
 */
export class RedisStore implements StateStore {
  readonly files: RedisFiles;
  readonly nonces: RedisNonces;
  readonly firstTexts: RedisFirstTexts;
  readonly callLimits: RedisCallLimits;
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;
  readonly #sweeps: RedisSessionSweeps;
  readonly #keySpace: RedisStoreOptions['keySpace'];
  readonly #clock: StoreClock;
  readonly #sessionTtlMs: number;
  /** The expiry of keys is renewed at most hourly and lasts that much longer. */
  readonly #keyTtlMs: number;
  readonly #filesTtlMs: number;

  /** Takes over the connection: `close` ends it. */
  constructor(connection: RedisConnection, options: RedisStoreOptions) {
    LUA.load();
    this.#connection = connection;
    this.#keys = new RedisKeys(options.keyBase);
    this.#keySpace = options.keySpace;
    this.#clock = options.clock ?? new StoreClock();
    this.#sessionTtlMs = Math.ceil(options.sessionTtlMs ?? 30 * DAY_MS);
    this.#keyTtlMs = this.#sessionTtlMs + HOUR_MS;
    this.#filesTtlMs = this.#keyTtlMs + FILES_GRACE_MS;
    this.files = new RedisFiles(new RedisFileSteps(connection, this.#keys, this.#filesTtlMs), this.#clock);
    this.nonces = new RedisNonces(connection, this.#keys);
    this.#sweeps = new RedisSessionSweeps(connection, this.#keys, this.#keyTtlMs);
    this.firstTexts = new RedisFirstTexts(connection, this.#keys);
    this.callLimits = new RedisCallLimits(connection, this.#keys);
    // It may lead to another server. What fails is tried again by the next health check.
    connection.onUsable(() => void this.#readClock().catch(() => undefined));
  }

  now(): number {
    return this.#clock.now();
  }

  async secret(name: string): Promise<string> {
    return String(await this.#run(scripts.SECRET, [this.#keys.secret(name)], [newSecret(), SECRET_TTL_MS]));
  }

  async reserve(key: SessionKey, options: { maxActive: number; now: number; expiresAt: number }): Promise<boolean> {
    const { active, reservations } = this.#keys;
    const values = [options.maxActive, options.now, this.#dead(options.now), options.expiresAt, this.#keyTtlMs];
    return (await this.#run(scripts.RESERVE, [active, reservations], [this.#keys.name(key), ...values])) === 1;
  }

  async release(key: SessionKey): Promise<void> {
    await this.#connection.run((redis) => redis.zrem(this.#keys.reservations, this.#keys.name(key)));
  }

  async open(record: SessionRecord): Promise<void> {
    const name = this.#keys.name(record);
    const values = [name, record.lastActiveAt, this.#keyTtlMs, this.#filesTtlMs, ...encodeSession(record)];
    const { reservations, servers, workspaces } = this.#keys;
    const index = record.protocolVersion === WORKSPACE_PROTOCOL ? [workspaces] : [];
    await this.#run(scripts.OPEN, [...this.#keys.allOf(name), reservations, servers, ...index], values);
  }

  async find(key: SessionKey, caller: Caller): Promise<Found> {
    const hash = this.#keys.session(this.#keys.name(key));
    const fields = await this.#connection.run((redis) => redis.hmget(hash, ...SESSION_FIELDS));
    return seenBy(decodeSession(key, fields), caller);
  }

  async touch(key: SessionKey, caller: Caller): Promise<Found> {
    const name = this.#keys.name(key);
    const { principal, now } = caller;
    const keys = [this.#keys.session(name), this.#keys.active];
    const reply = await this.#run(scripts.TOUCH, keys, [name, principal, now, this.#keyTtlMs, now - HOUR_MS]);
    if (renewedAt(reply) < now - HOUR_MS) await this.files.keep(key);
    return seenBy(decodeSession(key, reply), caller);
  }

  async enter(key: SessionKey, caller: Caller, call: EnteringCall): Promise<Found | { state: 'limit' } | Refused> {
    const name = this.#keys.name(key);
    const { now } = caller;
    const { id, until, maxInFlight, isUncounted = false, taking } = call;
    const values = [name, caller.principal, now, id, until, maxInFlight ?? '', this.#keyTtlMs, now - HOUR_MS];
    const keys = this.#keys.callsOf(name);
    if (taking !== undefined) keys.push(...keysOf(this.#keys, taking));
    const ofLimits = taking === undefined ? [] : valuesOf(taking);
    const reply = await this.#run(scripts.ENTER, keys, [...values, isUncounted ? 1 : 0, ...ofLimits]);
    if (renewedAt(reply) < now - HOUR_MS) await this.files.keep(key);
    return reply === 0 ? { state: 'limit' } : (refusedOf(reply) ?? seenBy(decodeSession(key, reply), caller));
  }

  async renew(calls: readonly { key: SessionKey; lease: CallLease }[], now: number): Promise<void> {
    const bySession = Map.groupBy(calls, ({ key }) => this.#keys.name(key));
    await Promise.all(
      Array.from(bySession, async ([name, group]) => {
        const leases = group.flatMap(({ lease }) => [lease.id, lease.until]);
        const values = [name, now, this.#keyTtlMs, now - HOUR_MS, ...leases];
        const renewed = await this.#run(scripts.RENEW, this.#keys.callsOf(name), values);
        if (renewed === 1) await this.files.keep(this.#keys.parse(name));
      }),
    );
  }

  async leave(key: SessionKey, leaseId: string, now: number, places: HeldPlaces['places'] = []): Promise<void> {
    const name = this.#keys.name(key);
    const keys = [...this.#keys.callsOf(name), ...placeKeys(this.#keys, places)];
    await this.#run(scripts.LEAVE, keys, [name, leaseId, now, ...callsOf(places)]);
  }

  async revive(
    key: SessionKey,
    caller: Caller,
    options: { maxActive: number | null },
  ): Promise<Found | { state: 'limit' }> {
    const name = this.#keys.name(key);
    const { active, tombstones, reservations } = this.#keys;
    const values = [caller.principal, caller.now, options.maxActive ?? '', this.#dead(caller.now), this.#keyTtlMs];
    const keys = [this.#keys.session(name), active, tombstones, reservations];
    const reply = await this.#run(scripts.REVIVE, keys, [name, ...values]);
    if (reply !== 0) await this.files.keep(key);
    return reply === 0 ? { state: 'limit' } : seenBy(decodeSession(key, reply), caller);
  }

  async replaceUpstream(
    key: SessionKey,
    generation: number,
    upstream: { upstreamSessionId: string | null; protocolVersion: string },
  ): Promise<boolean> {
    const values = [generation, generation + 1, upstream.protocolVersion];
    const id = upstream.upstreamSessionId === null ? [] : [upstream.upstreamSessionId];
    return (await this.#run(scripts.REPLACE_UPSTREAM, [this.#hash(key)], [...values, ...id])) === 1;
  }

  async setLogLevel(key: SessionKey, params: string): Promise<void> {
    await this.#run(scripts.SET_LOG_LEVEL, [this.#hash(key)], [params]);
  }

  async setSubscription(key: SessionKey, uri: string, subscribed: boolean): Promise<void> {
    const limits = [MAX_SUBSCRIPTIONS, MAX_SUBSCRIPTION_TEXT];
    await this.#run(scripts.SET_SUBSCRIPTION, [this.#hash(key)], [uri, subscribed ? 1 : 0, ...limits]);
  }

  async dropLists(key: SessionKey): Promise<void> {
    await this.#run(scripts.DROP_LISTS, [this.#hash(key)], []);
  }

  async pin(key: SessionKey, baseline: Baseline): Promise<Baseline | undefined> {
    const reply = await this.#run(scripts.PIN, [this.#hash(key)], [baseline.fingerprint, kept(baseline).text]);
    if (reply === 1) return baseline;
    return Array.isArray(reply) ? decodeBaseline(reply[0], reply[1]) : undefined;
  }

  async baseline(key: SessionKey): Promise<Baseline | undefined> {
    const [principal, reason, fingerprint, text] = await this.#connection.run((redis) =>
      redis.hmget(this.#hash(key), 'principal', 'reason', 'baseline', 'baselineText'),
    );
    if (typeof principal !== 'string' || typeof reason === 'string') return undefined;
    return decodeBaseline(fingerprint, text);
  }

  async remove(key: SessionKey): Promise<SessionRecord | undefined> {
    const name = this.#keys.name(key);
    return decodeSession(key, await this.#run(scripts.REMOVE, this.#keys.allOf(name), [name]))?.record;
  }

  async invalidate(key: SessionKey, reason: string, expiresAt: number): Promise<boolean> {
    const name = this.#keys.name(key);
    const values = [name, reason, expiresAt, Math.ceil(expiresAt + TOMBSTONE_GRACE_MS)];
    return (await this.#run(scripts.INVALIDATE, this.#keys.allOf(name), values)) === 1;
  }

  expireIdle(options: Parameters<RedisSessionSweeps['idle']>[0]): Promise<SessionRecord[]> {
    return this.#sweeps.idle(options);
  }

  expireWorkspaces(options: Parameters<RedisSessionSweeps['workspaces']>[0]): Promise<SessionRecord[]> {
    return this.#sweeps.workspaces(options);
  }

  expireTombstones(options: Parameters<RedisSessionSweeps['tombstones']>[0]): Promise<SessionRecord[]> {
    return this.#sweeps.tombstones(options);
  }

  async active({ offset, limit }: { offset: number; limit: number }): Promise<SessionRecord[]> {
    if (limit <= 0) return [];
    const last = offset + limit - 1;
    const names = await this.#connection.run((redis) => redis.zrevrange(this.#keys.active, offset, last));
    const found = await Promise.all(
      names.map(async (name) => {
        const fields = await this.#connection.run((redis) => redis.hmget(this.#keys.session(name), ...SESSION_FIELDS));
        return decodeSession(this.#keys.parse(name), fields);
      }),
    );
    // One may have ended since its name was read.
    return found.flatMap((session) => (session?.ending === null ? [session.record] : []));
  }

  async counts(now: number): Promise<StateCounts> {
    const { active, inFlight, tombstones } = this.#keys;
    const keys = [active, inFlight, tombstones];
    const reply = await this.#connection.script(scripts.COUNTS, keys, [now, this.#dead(now)], 'now');
    const [sessions = 0, ended = 0, calls = 0] = Array.isArray(reply) ? reply.map(Number) : [];
    return { sessions, tombstones: ended, inFlight: calls };
  }

  async clear(): Promise<void> {
    await Promise.all([this.files.clear(), this.nonces.clear()]);
    const { active, tombstones, reservations, inFlight, servers, workspaces } = this.#keys;
    for (const index of [active, tombstones]) {
      let names: string[];
      do {
        names = await this.#connection.run((redis) => redis.zrange(index, '0', String(PAGE - 1)));
        await Promise.all(names.map((name) => this.#run(scripts.REMOVE, this.#keys.allOf(name), [name])));
      } while (names.length > 0);
    }
    await this.#connection.run((redis) => redis.del(reservations, inFlight, servers, workspaces));
  }

  async tryLock(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return (await this.#run(scripts.TRY_LOCK, [this.#keys.lock(name)], [owner, Math.ceil(ttlMs)])) === 1;
  }

  async unlock(name: string, owner: string): Promise<void> {
    await this.#run(scripts.UNLOCK, [this.#keys.lock(name)], [owner]);
  }

  async lockHolder(name: string): Promise<string | undefined> {
    return (await this.#connection.run((redis) => redis.get(this.#keys.lock(name)))) ?? undefined;
  }

  /** Writes, so that a server that only reads or has no memory left is noticed. */
  async ping(): Promise<void> {
    await this.#keySpace?.claim();
    await Promise.all([
      this.#readClock(),
      this.#connection.run((redis) => redis.set(this.#keys.probe, '1', 'PX', PROBE_TTL_MS), 'now'),
    ]);
  }

  #readClock(): Promise<void> {
    return this.#clock.measure(async () => {
      const [seconds = 0, microseconds = 0] = await this.#connection.run((redis) => redis.time(), 'now');
      return seconds * 1000 + microseconds / 1000;
    });
  }

  async close(): Promise<void> {
    try {
      await this.#keySpace?.release();
    } catch {
      // It ends by itself.
    }
    this.#connection.close();
  }

  #run(script: StoreScript, keys: readonly string[], values: readonly (string | number)[]): Promise<RedisReply> {
    return this.#connection.script(script, keys, values);
  }

  #hash(key: SessionKey): string {
    return this.#keys.session(this.#keys.name(key));
  }

  /** Sessions last active before this time have expired in Redis; only the index still names them. */
  #dead(now: number): number {
    return now - this.#keyTtlMs;
  }
}
