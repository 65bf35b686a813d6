import type { BusKey } from './message-bus.ts';
import type { SessionKey } from './state-store.ts';

/**
 * The names of everything in Redis, all under `state_persistence.redis.key_base`. Members of the sorted sets are
 * session names; times are milliseconds since the epoch.
 */
export class RedisKeys {
  /** Active sessions by the time of their last activity. */
  readonly active: string;
  /** Leases of all running calls, `<session name>\n<lease id>`, by their end. */
  readonly inFlight: string;
  /** Tombstones by their end. */
  readonly tombstones: string;
  /** Places taken for sessions that are being opened, by their end. */
  readonly reservations: string;
  /** Written by health checks. */
  readonly probe: string;
  /** Channel of control messages. */
  readonly control: string;
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
    this.active = `${base}:active`;
    this.inFlight = `${base}:in_flight`;
    this.tombstones = `${base}:tombstones`;
    this.reservations = `${base}:reservations`;
    this.probe = `${base}:probe`;
    this.control = `${base}:control`;
  }

  /** Unambiguous: the server id is escaped, so its first colon ends it. */
  name(key: SessionKey): string {
    return `${encodeURIComponent(key.serverId)}:${key.sessionId}`;
  }

  /** The key that `name` was made of. */
  parse(name: string): SessionKey {
    const end = name.indexOf(':');
    return { serverId: decodeURIComponent(name.slice(0, end)), sessionId: name.slice(end + 1) };
  }

  /** Hash: the session's record. */
  session(name: string): string {
    return `${this.#base}:session:${name}`;
  }

  /** Sorted set: the session's leases by their end. */
  leases(name: string): string {
    return `${this.#base}:leases:${name}`;
  }

  lock(name: string): string {
    return `${this.#base}:lock:${name}`;
  }

  /** Stream and channel: the messages of one upstream session. */
  log(key: BusKey): string {
    return `${this.#base}:log:${this.name(key)}:${key.generation}`;
  }

  /** Hash: the requests that run on one upstream session. */
  calls(key: BusKey): string {
    return `${this.#base}:calls:${this.name(key)}:${key.generation}`;
  }
}
