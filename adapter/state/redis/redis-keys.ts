import type { BusKey } from '../message-bus.ts';
import type { SessionKey } from '../state-store.ts';

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
  /** Semaphore taken for sessions that are being opened, by their end. */
  readonly reservations: string;
  /** Workspaces by a time of their activity, the last or an earlier one; some may be gone. */
  readonly workspaces: string;
  /** Set: the (escaped) servers that have sessions. */
  readonly servers: string;
  /** Sessions that have files, by the bytes of these. */
  readonly fileSessions: string;
  /** Hash: how many uploads (u) and artifacts (a) are committed (c) and pending (p), and their bytes (b). */
  readonly fileTotals: string;
  /** Committed uploads, `<session name>\n<field of the file>`, by their last use. */
  readonly uploads: string;
  /** The same for artifacts. */
  readonly artifacts: string;
  /** The same for pending files, by the end of their lease. */
  readonly pendingFiles: string;
  /** Upload nonces by their end. */
  readonly nonces: string;
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
    this.workspaces = `${base}:workspaces`;
    this.servers = `${base}:servers`;
    this.fileSessions = `${base}:file_sessions`;
    this.fileTotals = `${base}:file_totals`;
    this.uploads = `${base}:uploads`;
    this.artifacts = `${base}:artifacts`;
    this.pendingFiles = `${base}:pending_files`;
    this.nonces = `${base}:nonces`;
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

  /** What scripts about the calls of a session take, in this order. */
  callsOf(name: string): string[] {
    return [this.session(name), this.leases(name), this.active, this.inFlight];
  }

  /** What scripts about a session and its end take, in this order. */
  allOf(name: string): string[] {
    return [...this.callsOf(name), this.tombstones];
  }

  /** Hash: the session's files, and like `fileTotals` their totals in fields that begin with #. */
  files(name: string): string {
    return `${this.#base}:files:${name}`;
  }

  nonce(nonce: string): string {
    return `${this.#base}:nonce:${nonce}`;
  }

  secret(name: string): string {
    return `${this.#base}:secret:${name}`;
  }

  /** Hash: a text and its end. */
  firstText(name: string): string {
    return `${this.#base}:first_text:${name}`;
  }

  /** A number: when this bucket of a limit is as good as new, in microseconds since the epoch. */
  rate(key: string): string {
    return `${this.#base}:rate:${key}`;
  }

  /** Sorted set: the places of this limit that calls hold, by their end. */
  places(key: string): string {
    return `${this.#base}:places:${key}`;
  }

  lock(name: string): string {
    return `${this.#base}:lock:${name}`;
  }

  /** Stream and channel: the messages of one upstream session. */
  log(key: BusKey): string {
    return `${this.#base}:log:${this.name(key)}:${key.generation}`;
  }

  /** Sorted set: the carriers of one upstream session whose messages are kept, by their end. */
  expected(key: BusKey): string {
    return `${this.#base}:expected:${this.name(key)}:${key.generation}`;
  }

  /** Sorted set: the logs of one server by their last message. */
  logAges(serverId: string): string {
    return `${this.#base}:log_ages:${encodeURIComponent(serverId)}`;
  }

  /** Hash: the bytes in each log of one server, and of all as `total`. */
  logBytes(serverId: string): string {
    return `${this.#base}:log_bytes:${encodeURIComponent(serverId)}`;
  }

  /** Hash: the requests that run on one upstream session. */
  calls(key: BusKey): string {
    return `${this.#base}:calls:${this.name(key)}:${key.generation}`;
  }
}
