import type { Pool } from 'undici';

import { ANSWER_LIMITS, requireReadable } from '../../lib/json/json-limits.ts';
import { rpcErrorText } from '../errors.ts';
import { type Message, parseBody, progressToken } from '../exchange/message.ts';
import {
  type BusKey,
  busKeyText,
  CALL_LEASE_MS,
  type ControlMessage,
  type LogEntry,
  type MessageBus,
  MESSAGE_LOG_TTL_MS,
  type RunningCall,
} from '../state/message-bus.ts';
import type { StateStore } from '../state/state-store.ts';
import { eventId, parseEventId, requestCarrier, STREAM_CARRIER } from './carrier.ts';
import { messageFrame } from '../exchange/scanning/sse-frames.ts';
import { SseConnection } from './sse-connection.ts';
import { SseExchange } from './sse-exchange.ts';
import { SseOwners } from './sse-owners.ts';
import { mayBeSent, upstreamPool, type UpstreamPoolOptions } from './upstream-pool.ts';
import type { ResponseSink, Upstream, UpstreamRequest, UpstreamSession } from '../exchange/upstream.ts';
import { MAX_ID_CHARS } from '../limits.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const TICK_MS = 1_500;
/** Who holds the lock that says that nobody has read the session's own stream yet. */
const UNREAD = 'unread';
/** No request has an id of more characters, each written as an escape. */
const MAX_CARRIER_CHARS = requestCarrier('""').length + 6 * MAX_ID_CHARS;
const NOT_KEPT = 'The answer was too large to be kept until the broken stream was taken up again.';
const FROM_THE_START = '0-0';
const EVENT_STREAM = { 'content-type': 'text/event-stream' };

interface Options extends UpstreamPoolOptions {
  readonly store: StateStore;
  readonly bus: MessageBus;
}

/** A request that runs on this replica. */
interface Call {
  readonly key: BusKey;
  readonly running: RunningCall;
}

/** Somebody who waits for messages of a session's stream. */
interface Waiter {
  readonly key: BusKey;
  readonly carrier: string;
  readonly exchange: SseExchange;
}

/**
 * Upstream transport `sse` (MCP 2024-11-05, HTTP with SSE). The whole session hangs on one GET stream, so the
 * replica that opened it, the owner, reads it for all: each message goes into the session's log on the bus under one
 * carrier, and whichever replica answers the client follows that carrier. Messages are posted from any replica.
 * The log's ids make the client's streams resumable, which the transport itself is not.
 */
export class LegacySseUpstream implements Upstream {
  readonly modern = false;
  readonly #url: URL;
  readonly #store: StateStore;
  readonly #bus: MessageBus;
  readonly #pool: Pool;
  readonly #owners: SseOwners;
  readonly #waiters = new Set<Waiter>();
  readonly #calls = new Set<Call>();
  readonly #timer: NodeJS.Timeout;
  readonly #callTimer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;

  constructor(options: Options) {
    this.#url = new URL(options.url);
    this.#store = options.store;
    this.#bus = options.bus;
    this.#owners = new SseOwners(options.store);
    this.#pool = upstreamPool(options);
    this.#timer = setInterval(() => void this.#tick(), TICK_MS).unref();
    this.#callTimer = setInterval(() => this.#renewCalls(), CALL_LEASE_MS / 3).unref();
    this.#unsubscribe = this.#bus.onControl((message) => this.#onControl(message));
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const waiting = new SseExchange(sink);
    sink.onStart(waiting);
    this.#send(request, waiting).catch((error: unknown) => waiting.fail(error as Error, mayBeSent(error)));
  }

  async #send(request: UpstreamRequest, exchange: SseExchange): Promise<void> {
    const { session } = request;
    if (session === undefined) return exchange.refuse(400);
    const key: BusKey = { serverId: session.serverId, sessionId: session.sessionId, generation: session.generation };
    let endpoint = session.upstreamSessionId;
    if (endpoint === undefined) endpoint = await this.#connect(key, request.headers, exchange);
    else if (!(await this.#owners.has(key))) return exchange.refuse(404);
    if (endpoint === null) return;
    if (request.method === 'GET') return this.#stream(key, request.lastEventId, exchange);
    await this.#post(key, endpoint, request, exchange);
  }

  /** Opens the session's stream and becomes its owner. Null: the refusal has been told. */
  async #connect(key: BusKey, headers: readonly string[], exchange: SseExchange): Promise<string | null> {
    const connection = new SseConnection({
      onMessage: (message) => this.#deliver(key, message),
      onClose: () => this.#closed(key, connection),
    });
    // A server may ask something at once.
    await this.#bus.expect(key, STREAM_CARRIER);
    const { pathname, search } = this.#url;
    const opened = await connection.open(this.#pool, this.#url.origin, pathname + search, headers, CONNECT_TIMEOUT_MS);
    if ('status' in opened) {
      exchange.refuse(opened.status);
      return null;
    }
    if (connection.closed) throw new Error('the upstream server closed its event stream at once');
    if (exchange.signal.aborted) {
      // Who wanted it has gone, and has ended the session before there was one to end.
      connection.close();
      return null;
    }
    await this.#owners.own(key, connection);
    await this.#store.tryLock(unreadLock(key), UNREAD, MESSAGE_LOG_TTL_MS);
    // An owner that only seemed dead, because the store was, would hold the stream before this one for ever.
    if (key.generation > 0) {
      this.#bus.publish({ type: 'upstream-closed', ...key, generation: key.generation - 1 }).catch(ignore);
    }
    return opened.endpoint;
  }

  // ── from the client to the upstream ────────────────────────────────────────────────────────────────────────────

  async #post(key: BusKey, endpoint: string, request: UpstreamRequest, exchange: SseExchange): Promise<void> {
    const messages = request.body?.messages ?? [];
    const calls: Call[] = [];
    for (const message of messages) {
      if (message.kind !== 'request') continue;
      const carrier = requestCarrier(message.idText);
      const toolCall = message.method === 'tools/call';
      const running = { carrier, progressToken: progressToken(message), toolCall, startedAt: this.#store.now() };
      await this.#bus.addCall(key, running);
      calls.push({ key, running });
    }
    for (const call of calls) this.#calls.add(call);
    exchange.onEnd(async () => {
      for (const call of calls) this.#calls.delete(call);
      for (const { running } of calls) await this.#bus.removeCall(key, running.carrier);
    });
    const accepted = { status: 200, headers: EVENT_STREAM, upstreamSessionId: endpoint };
    exchange.accepted = accepted;
    // Followed before the request leaves: the answer may be faster than this call returns.
    let open = calls.length;
    for (const call of calls) {
      await this.#follow(key, call.running.carrier, null, exchange, () => {
        this.#calls.delete(call);
        if (--open === 0) exchange.end();
      });
    }
    const url = new URL(endpoint);
    const response = await this.#pool.request({
      path: url.pathname + url.search,
      method: 'POST',
      headers: [...request.headers],
      body: request.body?.bytes ?? null,
      signal: exchange.signal,
    });
    await response.body.dump();
    if (response.statusCode >= 300) return exchange.refuse(response.statusCode);
    if (calls.length > 0) exchange.begin(accepted);
    else {
      exchange.begin({ status: 202, headers: {}, upstreamSessionId: endpoint });
      exchange.end();
    }
  }

  /** A GET: the session's own stream, or a request's stream that is taken up again. */
  async #stream(key: BusKey, lastEventId: string | undefined, exchange: SseExchange): Promise<void> {
    const from = lastEventId === undefined ? undefined : parseEventId(lastEventId);
    const carrier = from?.carrier ?? STREAM_CARRIER;
    const after = from?.id ?? ((await this.#takeUnread(key)) ? FROM_THE_START : null);
    // Followed before the head is sent: what happens after the client has seen it must not be missed.
    await this.#follow(key, carrier, after, exchange, () => exchange.end());
    if (from === undefined) await this.#bus.publish({ type: 'stream-opened', ...key, reader: exchange.id });
    exchange.begin({ status: 200, headers: EVENT_STREAM, upstreamSessionId: null });
  }

  /** True for the first who reads the session's own stream: a server may have asked something before that is there. */
  async #takeUnread(key: BusKey): Promise<boolean> {
    if ((await this.#store.lockHolder(unreadLock(key))) === undefined) return false;
    await this.#store.unlock(unreadLock(key), UNREAD);
    return true;
  }

  async #follow(
    key: BusKey,
    carrier: string,
    after: string | null,
    exchange: SseExchange,
    onResponse: () => void,
  ): Promise<void> {
    const waiter: Waiter = { key, carrier, exchange };
    this.#waiters.add(waiter);
    let finished = false;
    const stop = await this.#bus.follow(key, carrier, after, (entry: LogEntry) => {
      if (finished) return;
      const isAnswer = carrier !== STREAM_CARRIER && isResponse(entry.message);
      exchange.data(messageFrame(entry.message, eventId(carrier, entry.id)), isAnswer);
      if (!isAnswer) return;
      finished = true;
      onResponse();
    });
    exchange.onEnd(async () => {
      this.#waiters.delete(waiter);
      await stop();
    });
  }

  // ── from the upstream to the client ────────────────────────────────────────────────────────────────────────────

  async #deliver(key: BusKey, text: string): Promise<void> {
    // Who waits for it hears that the stream has ended.
    requireReadable(text, ANSWER_LIMITS);
    const body = parseBody(Buffer.from(text), ANSWER_LIMITS);
    if ('code' in body) return;
    for (const message of body.messages) {
      const carrier = await this.#carrierOf(key, message);
      if (carrier.length > MAX_CARRIER_CHARS) continue;
      const isAnswer = message.kind === 'response';
      const instead = isAnswer ? rpcErrorText('upstream_failed', NOT_KEPT, message.idText) : undefined;
      // What comes after an answer must find another stream, also while the replica of that call is busy, or dead.
      await this.#bus.append(key, { carrier, message: body.text, isAnswer, ...(instead !== undefined && { instead }) });
      // A batch stays together under the carrier of its first message: its bytes are not taken apart.
      if (body.batch) break;
    }
  }

  /** Every message goes to the client on exactly one stream (MCP, Streamable HTTP). */
  async #carrierOf(key: BusKey, message: Message): Promise<string> {
    if (message.kind === 'response') return requestCarrier(message.idText);
    if (message.method.endsWith('/list_changed') || message.method === 'notifications/resources/updated') {
      return STREAM_CARRIER;
    }
    const calls = await this.#bus.calls(key);
    const token = message.params['progressToken'];
    if (typeof token === 'string' || typeof token === 'number') {
      const owner = calls.find((call) => call.progressToken === JSON.stringify(token));
      if (owner !== undefined) return owner.carrier;
    }
    return calls.findLast((call) => call.toolCall)?.carrier ?? STREAM_CARRIER;
  }

  #closed(key: BusKey, connection: SseConnection): void {
    if (this.#owners.closed(key, connection)) this.#bus.publish({ type: 'upstream-closed', ...key }).catch(ignore);
  }

  #onControl(message: ControlMessage): void {
    if (message.type === 'upstream-closed') {
      this.#owners.close(message);
      this.#failWaiters(message);
    } else if (message.type === 'stream-opened') {
      for (const { carrier, exchange } of this.#waitersOf(message))
        if (carrier === STREAM_CARRIER && exchange.id !== message.reader) exchange.end();
    }
  }

  #failWaiters(key: BusKey): void {
    for (const { exchange } of this.#waitersOf(key))
      exchange.fail(new Error('the upstream server has closed its event stream'), true);
  }

  #waitersOf(key: BusKey): Waiter[] {
    return [...this.#waiters].filter((waiter) => busKeyText(waiter.key) === busKeyText(key));
  }

  /** Extends the leases of the owned streams, and finds out about owners that have died. */
  async #tick(): Promise<void> {
    try {
      await this.#owners.extend();
      const foreign = new Map<string, BusKey>();
      for (const { key } of this.#waiters) if (!this.#owners.isHere(key)) foreign.set(busKeyText(key), key);
      for (const key of foreign.values()) if (!(await this.#owners.has(key))) this.#failWaiters(key);
    } catch {
      // The store is down; leases are extended when it is back.
    }
  }

  /** The calls of a replica that has died must not take messages for long. */
  #renewCalls(): void {
    for (const { key, running } of this.#calls) this.#bus.addCall(key, running).catch(ignore);
  }

  knowsEvent(eventId: string): boolean {
    return parseEventId(eventId) !== undefined;
  }

  async endSession(session: UpstreamSession): Promise<void> {
    const key = { serverId: session.serverId, sessionId: session.sessionId, generation: session.generation };
    if (!this.#owners.close(key)) await this.#bus.publish({ type: 'upstream-closed', ...key });
    await Promise.all([this.#bus.drop(key), this.#store.unlock(unreadLock(key), UNREAD)]);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearInterval(this.#callTimer);
    this.#owners.closeAll();
    this.#unsubscribe();
    await this.#pool.destroy();
  }
}

function isResponse(text: string): boolean {
  const body = parseBody(Buffer.from(text), ANSWER_LIMITS);
  return !('code' in body) && body.messages.some((message) => message.kind === 'response');
}

function unreadLock(key: BusKey): string {
  return `sse-unread:${key.serverId}:${key.sessionId}:${key.generation}`;
}

function ignore(): void {
  // Leases and logs expire by themselves.
}
