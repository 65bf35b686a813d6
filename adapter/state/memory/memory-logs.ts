import type { ByteAccount, ByteShare } from '../../byte-account.ts';
import { logIdAfter, nextLogId } from '../log-id.ts';
import { type BusKey, busKeyText, type LogEntry, MESSAGE_LOG_TTL_MS, type NewEntry } from '../message-bus.ts';
import { LOG_LENGTH, LOG_BYTES, LOGS_BYTES, ENTRY_BYTES, MAX_EXPECTED } from '../../limits.ts';

interface Log {
  readonly entries: (LogEntry & { readonly carrier: string; readonly bytes: number })[];
  /** All of its entries. */
  readonly share: ByteShare;
  expiresAt: number;
}

/** The logs of one server's sessions, in the order of the last append, so that the oldest stands first. */
interface ServerLogs {
  readonly logs: Map<string, Log>;
  bytes: number;
}

/** Carriers of one session by the end of their time. */
interface Expected {
  readonly carriers: Map<string, number>;
  expiresAt: number;
}

/** What a single process keeps of the messages of `sse` upstreams. Times are milliseconds since the epoch. */
export class MemoryLogs {
  readonly #servers = new Map<string, ServerLogs>();
  /** In the order of the last change, so that expired ones stand first. */
  readonly #expected = new Map<string, Expected>();
  readonly #account: ByteAccount;
  #bytes = 0;
  #lastId = '0-0';

  constructor(account: ByteAccount) {
    this.#account = account;
  }

  /** `isWaitedFor`: somebody follows, or a call runs. Undefined for what nobody waits for. */
  append(key: BusKey, entry: NewEntry, isWaitedFor: boolean, now: number): string | undefined {
    const { carrier, message, isAnswer, instead } = entry;
    const carriers = this.#expected.get(busKeyText(key))?.carriers;
    const isExpected = isWaitedFor || (carriers?.get(carrier) ?? 0) > now;
    if (isAnswer === true) carriers?.delete(carrier);
    if (!isExpected) return undefined;
    this.#lastId = nextLogId(this.#lastId, now);
    const fits = Buffer.byteLength(message) + ENTRY_BYTES <= LOG_BYTES;
    const kept = fits ? message : instead;
    if (kept !== undefined) this.#keep(key, carrier, kept, now);
    return this.#lastId;
  }

  expect(key: BusKey, carrier: string, now: number): void {
    const text = busKeyText(key);
    const expected = this.#expected.get(text) ?? { carriers: new Map<string, number>(), expiresAt: 0 };
    const { carriers } = expected;
    expected.expiresAt = now + MESSAGE_LOG_TTL_MS;
    carriers.delete(carrier);
    carriers.set(carrier, expected.expiresAt);
    for (const [one, until] of carriers) {
      if (until > now && carriers.size <= MAX_EXPECTED) break;
      carriers.delete(one);
    }
    this.#expected.delete(text);
    this.#expected.set(text, expected);
    dropExpired(this.#expected, now);
  }

  /** Entries of a carrier with an id after this one. */
  after(key: BusKey, carrier: string, after: string, now: number): LogEntry[] {
    this.#dropExpired(now);
    const log = this.#servers.get(key.serverId)?.logs.get(busKeyText(key));
    return log?.entries.filter((entry) => entry.carrier === carrier && logIdAfter(entry.id, after)) ?? [];
  }

  drop(key: BusKey): void {
    const text = busKeyText(key);
    this.#expected.delete(text);
    this.#dropLog(this.#servers.get(key.serverId), text);
  }

  #keep(key: BusKey, carrier: string, message: string, now: number): void {
    this.#dropExpired(now);
    const text = busKeyText(key);
    const { serverId, sessionId } = key;
    const server = this.#servers.get(serverId) ?? { logs: new Map<string, Log>(), bytes: 0 };
    this.#servers.set(serverId, server);
    const log = server.logs.get(text) ?? {
      entries: [],
      share: this.#account.share(
        'logs',
        { server: serverId, session: sessionId },
        { end: () => this.#dropLog(server, text) },
      ),
      expiresAt: 0,
    };
    const { entries, share } = log;
    const bytes = Buffer.byteLength(message) + ENTRY_BYTES;
    while (share.held + bytes > LOG_BYTES || entries.length >= LOG_LENGTH) {
      const trimmed = -(entries.shift()?.bytes ?? 0);
      share.take(trimmed);
      this.#count(server, trimmed);
    }
    // Others need the room: who follows gets the message all the same.
    if (!share.take(bytes)) return;
    this.#count(server, bytes);
    entries.push({ id: this.#lastId, carrier, message, bytes });
    log.expiresAt = now + MESSAGE_LOG_TTL_MS;
    server.logs.delete(text);
    server.logs.set(text, log);
    while (this.#bytes > LOGS_BYTES) this.#dropOldest();
  }

  /** Of the server that has most: the messages of one must not push those of all others out. */
  #dropOldest(): void {
    const [first, ...others] = this.#servers.values();
    const server = others.reduce((most, one) => (one.bytes > (most?.bytes ?? 0) ? one : most), first);
    const [oldest] = server?.logs.keys() ?? [];
    if (oldest !== undefined) this.#dropLog(server, oldest);
  }

  #dropLog(server: ServerLogs | undefined, text: string): void {
    const log = server?.logs.get(text);
    if (server === undefined || log === undefined) return;
    server.logs.delete(text);
    this.#forget(server, log);
  }

  #dropExpired(now: number): void {
    for (const server of this.#servers.values())
      for (const log of dropExpired(server.logs, now)) this.#forget(server, log);
  }

  #forget(server: ServerLogs, { entries, share }: Log): void {
    this.#count(server, -entries.reduce((sum, { bytes }) => sum + bytes, 0));
    share.giveBack();
  }

  #count(server: ServerLogs, bytes: number): void {
    server.bytes += bytes;
    this.#bytes += bytes;
  }
}

/** Of what stands in the order of its end. Returns what it has dropped. */
function dropExpired<T extends { readonly expiresAt: number }>(all: Map<string, T>, now: number): T[] {
  const dropped: T[] = [];
  for (const [text, one] of all) {
    if (one.expiresAt > now) break;
    all.delete(text);
    dropped.push(one);
  }
  return dropped;
}
