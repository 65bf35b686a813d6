import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';

import { visibleTools } from '../catalog/catalog.ts';
import { AdapterError, rpcErrorText } from '../errors.ts';
import { Exchange, type Outcome, type Plan } from '../exchange/exchange.ts';
import { locate, splice } from '../exchange/json-scan.ts';
import type { KeepAlive } from '../exchange/keep-alive.ts';
import { type Body, type Message, parseBody, type Request, toolName } from '../exchange/message.ts';
import { headerMismatch, isModern } from '../exchange/modern-headers.ts';
import type { RunningExchanges } from '../exchange/running.ts';
import type { Lease, SessionRegistry } from '../sessions/session-registry.ts';
import { newSessionId } from '../sessions/session-registry.ts';
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts';
import type { ControlMessage, MessageBus } from '../state/message-bus.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import type { Admission } from '../upstream/circuit-breaker.ts';
import { listKey } from '../upstream/list-cache.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { ResponseHead, UpstreamRequest, UpstreamSession } from '../upstream/upstream.ts';
import type { Incoming } from './incoming.ts';
import type { Mount } from './mount.ts';
import type { ToolParameters } from './tool-parameters.ts';

/** Any request that is no tool call; generous, because a server may ask the user something meanwhile. */
const REQUEST_TIMEOUT_MS = 300_000;
/** Requests that are meant to stay open. */
const OPEN_ENDED = new Set(['subscriptions/listen', 'tasks/result']);
const END_SESSION_TIMEOUT_MS = 5_000;
/** A cancelled request that the upstream leaves unanswered is given up after this long. */
const CANCEL_GRACE_MS = 5_000;
const SECOND_STREAM_ATTEMPTS = 5;
const BATCH_REVISION = '2025-03-26';

export interface GatewayParts {
  readonly store: StateStore;
  readonly bus: MessageBus;
  readonly sessions: SessionRegistry;
  readonly upstreamSessions: UpstreamSessions;
  readonly running: RunningExchanges;
  readonly keepAlive: KeepAlive;
  readonly toolParameters: ToolParameters;
  readonly terminationRetries: number;
  readonly isDraining: () => boolean;
  readonly onError: (error: unknown) => void;
}

/** What differs between the plans of the kinds of requests. */
interface OwnPlan {
  readonly id?: string;
  readonly request: UpstreamRequest;
  readonly idTexts: readonly string[];
  readonly sessionId?: string;
  readonly timeoutMs: number | null;
  readonly onTimeout?: Plan['onTimeout'];
  readonly onResponse?: Plan['onResponse'];
  readonly holdHead?: boolean;
  readonly again?: Plan['again'];
  readonly onListChanged?: Plan['onListChanged'];
  readonly onFinish: () => Promise<void> | undefined;
}

/**
 * What happens to a request on a mount, from the parsed body to the exchange with the upstream:
 *
 *     POST ─ required headers ─ breaker ─┬─ sessionless revision ─ headers = body? ─ exchange
 *                                        ├─ initialize ─ a place, an exchange, a session
 *                                        └─ session ─ limits ─ tool policy ─ cached list? ─ exchange
 */
export class Gateway {
  readonly #parts: GatewayParts;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    parts.bus.onControl((message) => this.#onControl(message));
  }

  async post(mount: Mount, incoming: Incoming, bytes: Buffer): Promise<void> {
    const body = parseBody(bytes);
    if ('code' in body) {
      const code = body.code === -32700 ? 'parse_error' : 'invalid_request';
      return sendError(incoming, new AdapterError(code, body.detail), [body.idText]);
    }
    const first = body.messages[0] as Message;
    const { facts } = incoming;
    if (first.kind !== 'response') facts.rpcMethod = body.batch ? 'batch' : first.method;
    if (first.kind === 'request' && first.method === 'tools/call') facts.tool = toolName(first) ?? '';
    const idTexts = requestIds(body);
    try {
      requireHeaders(mount, incoming);
      const admission = admit(mount);
      if (!body.batch && isModern(first, incoming.headers)) return await this.#sessionless(mount, incoming, body, admission);
      if (body.messages.some((m) => m.kind === 'request' && m.method === 'initialize')) {
        if (body.batch) throw new AdapterError('invalid_request', 'initialize must not be part of a batch.');
        return await this.#initialize(mount, incoming, body, first as Request, admission);
      }
      return await this.#inSession(mount, incoming, body, idTexts, admission);
    } catch (error) {
      sendError(incoming, this.#known(error), idTexts);
    }
  }

  // ── initialize ─────────────────────────────────────────────────────────────────────────────────────────────────

  async #initialize(mount: Mount, incoming: Incoming, body: Body, request: Request, admission: Admission): Promise<void> {
    const { sessions } = this.#parts;
    if (this.#parts.isDraining()) throw new AdapterError('draining');
    const key = { serverId: mount.serverId, sessionId: newSessionId() };
    await sessions.reserve(key);
    let opened = false;
    let upstreamSessionId: string | null = null;
    const plan = this.#plan(mount, incoming, admission, {
      request: {
        method: 'POST',
        session: { ...key, upstreamSessionId: undefined, generation: 0 },
        headers: mount.headers.forward('POST', incoming.headers, false),
        body,
      },
      idTexts: [request.idText],
      timeoutMs: REQUEST_TIMEOUT_MS,
      holdHead: true,
      onResponse: async (text, head) => {
        ({ upstreamSessionId } = head);
        const protocolVersion = negotiated(text);
        if (protocolVersion === undefined) return text;
        const params = locate(body.text, ['params']);
        const now = Date.now();
        const record: SessionRecord = {
          ...key,
          principal: incoming.principal,
          upstreamSessionId,
          generation: 0,
          protocolVersion,
          initializeParams: params === undefined ? '{}' : body.text.slice(params.start, params.end),
          logLevel: null,
          subscriptions: [],
          listsGeneration: 0,
          createdAt: now,
          lastActiveAt: now,
        };
        await sessions.open(record);
        opened = true;
        plan.sessionId = key.sessionId;
        incoming.facts.sessionId = key.sessionId;
        return text;
      },
      onFinish: () => {
        if (opened) return undefined;
        // Nobody will use what the upstream may have opened.
        const session = { ...key, upstreamSessionId, generation: 0 };
        void this.#endUpstream(mount, session, mount.headers.base('DELETE', incoming.headers));
        return sessions.release(key).catch(this.#parts.onError);
      },
    });
    new Exchange(plan).start();
  }

  // ── requests of a session ──────────────────────────────────────────────────────────────────────────────────────

  async #inSession(
    mount: Mount,
    incoming: Incoming,
    body: Body,
    idTexts: readonly string[],
    admission: Admission,
  ): Promise<void> {
    const calls = body.messages.filter((message) => message.kind === 'request' && message.method === 'tools/call');
    const sessionId = requireSession(incoming);
    incoming.facts.sessionId = sessionId;
    const leases: Lease[] = [];
    let started = false;
    try {
      let record = await this.#enter(mount, incoming, sessionId, calls.length, leases);
      if (body.batch && record.protocolVersion !== BATCH_REVISION) {
        throw new AdapterError('invalid_request', `Batches exist in revision ${BATCH_REVISION} only; send one message.`);
      }
      for (const call of calls) refuseDisabled(mount, call);
      if (record.upstreamSessionId === '') record = await this.#renew(mount, incoming, record);
      await this.#remember(record, body);
      const first = body.messages[0] as Message;
      const list = body.batch || first.kind !== 'request' ? undefined : listKey(first.method, first.params);
      if (list !== undefined && this.#answerFromCache(mount, incoming, record, list, idTexts)) return;
      const plan = this.#sessionPlan(mount, incoming, body, record, calls, idTexts, leases, list, admission);
      started = true;
      new Exchange(plan).start();
      const cancelled = cancelledRequest(first, body);
      if (cancelled !== undefined) {
        const { serverId } = mount;
        this.#parts.bus.publish({ type: 'cancelled', serverId, sessionId, requestId: cancelled }).catch(this.#parts.onError);
      }
    } finally {
      if (!started) await this.#leave(leases);
    }
  }

  async #enter(mount: Mount, incoming: Incoming, sessionId: string, calls: number, leases: Lease[]): Promise<SessionRecord> {
    const { sessions } = this.#parts;
    if (calls === 0) return sessions.find(mount.serverId, sessionId, incoming.principal);
    let record: SessionRecord | undefined;
    for (let i = 0; i < calls; i++) {
      const entered = await sessions.enter(mount.serverId, sessionId, incoming.principal);
      leases.push(entered.lease);
      record = entered.record;
    }
    return record as SessionRecord;
  }

  #leave(leases: readonly Lease[]): Promise<void> | undefined {
    let waits: Promise<void>[] | undefined;
    for (const lease of leases) {
      const wait = this.#parts.sessions.leave(lease);
      if (wait !== undefined) (waits ??= []).push(wait);
    }
    return waits === undefined ? undefined : Promise.all(waits).then(() => undefined);
  }

  /** What a new upstream session must be told again (facts of the protocol, "Session terminated"). */
  async #remember(record: SessionRecord, body: Body): Promise<void> {
    for (const message of body.messages) {
      if (message.kind !== 'request') continue;
      if (message.method === 'logging/setLevel') {
        await this.#parts.store.setLogLevel(record, JSON.stringify(message.params));
      } else if (message.method === 'resources/subscribe' || message.method === 'resources/unsubscribe') {
        const { uri } = message.params;
        const subscribed = message.method === 'resources/subscribe';
        if (typeof uri === 'string') await this.#parts.store.setSubscription(record, uri, subscribed);
      }
    }
  }

  #answerFromCache(mount: Mount, incoming: Incoming, record: SessionRecord, key: string, idTexts: readonly string[]): boolean {
    if (!mount.lists.enabled) return false;
    const result = mount.lists.get(record, key, Date.now());
    if (result === undefined) return false;
    incoming.facts.outcome = 'cached';
    sendJson(incoming.reply, 200, `{"jsonrpc":"2.0","id":${idTexts[0] ?? 'null'},"result":${result}}`, record.sessionId);
    return true;
  }

  #sessionPlan(
    mount: Mount,
    incoming: Incoming,
    body: Body,
    record: SessionRecord,
    calls: readonly Message[],
    idTexts: readonly string[],
    leases: readonly Lease[],
    list: string | undefined,
    admission: Admission,
  ): Plan {
    let current = record;
    let terminations = 0;
    const request = (): UpstreamRequest => ({
      method: 'POST',
      session: current,
      headers: mount.headers.forward('POST', incoming.headers, false),
      body,
    });
    const call = calls.length > 0 ? calls[0] : undefined;
    const limits = calls.map((one) => mount.timeoutOf(toolName(one)));
    const caches = list !== undefined && (mount.lists.enabled || (list.startsWith('tools/list') && mount.disabled.any));
    const filters = body.batch && mount.disabled.any && body.messages.some((m) => m.kind === 'request' && m.method === 'tools/list');
    return this.#plan(mount, incoming, admission, {
      request: request(),
      idTexts,
      sessionId: record.sessionId,
      timeoutMs: call === undefined ? requestTimeout(body) : longest(limits),
      onTimeout: () => {
        if (call === undefined) return new AdapterError('upstream_timeout');
        void this.#cancelUpstream(mount, incoming, current, idTexts);
        return timeoutResults(mount, calls, limits);
      },
      onResponse: caches || filters ? (text) => transformLists(mount, current, text, list) : undefined,
      onListChanged: mount.lists.enabled ? () => this.#parts.store.dropLists(record) : undefined,
      again: async (status) => {
        if (status === 409) throw new AdapterError('upstream_failed', 'The upstream server answered with HTTP 409.');
        terminations++;
        const retries = this.#parts.terminationRetries;
        const allowed = call === undefined ? Math.max(1, retries) : retries;
        if (terminations > Math.max(1, allowed)) throw new AdapterError('upstream_session_terminated');
        current = await this.#renew(mount, incoming, current);
        if (terminations > allowed) throw new AdapterError('upstream_session_terminated');
        return request();
      },
      onFinish: () => this.#leave(leases),
    });
  }

  #renew(mount: Mount, incoming: Incoming, record: SessionRecord): Promise<SessionRecord> {
    return this.#parts.upstreamSessions.renew(mount.upstream, record, mount.headers.base('POST', incoming.headers));
  }

  // ── the sessionless revision ───────────────────────────────────────────────────────────────────────────────────

  async #sessionless(mount: Mount, incoming: Incoming, body: Body, admission: Admission): Promise<void> {
    const message = body.messages[0] as Message;
    const base = mount.headers.base('POST', incoming.headers);
    const era = await mount.era.era(base).catch((error: unknown) => {
      throw new AdapterError('upstream_unreachable', undefined, { cause: error });
    });
    if (era === 'legacy') throw new AdapterError('legacy_upstream');
    const mismatch =
      headerMismatch(message, incoming.headers) ??
      (await this.#parts.toolParameters.mismatch(mount, message, incoming.headers, base));
    if (mismatch !== undefined) throw new AdapterError('header_mismatch', mismatch);
    const isCall = message.kind === 'request' && message.method === 'tools/call';
    const idTexts = requestIds(body);
    if (isCall) refuseDisabled(mount, message);
    const limit = isCall ? mount.timeoutOf(toolName(message)) : null;
    const filters = mount.disabled.any && message.kind === 'request' && message.method === 'tools/list';
    const plan = this.#plan(mount, incoming, admission, {
      request: { method: 'POST', session: undefined, headers: mount.headers.forward('POST', incoming.headers, true), body },
      idTexts,
      timeoutMs: isCall ? limit : requestTimeout(body),
      onTimeout: () => (isCall ? timeoutResults(mount, [message], [limit]) : new AdapterError('upstream_timeout')),
      onResponse: filters ? (text) => transformTools(mount, text) : undefined,
      onFinish: () => undefined,
    });
    new Exchange(plan).start();
  }

  // ── the session's event stream, and its end ────────────────────────────────────────────────────────────────────

  async get(mount: Mount, incoming: Incoming): Promise<void> {
    try {
      requireHeaders(mount, incoming);
      const admission = admit(mount);
      const sessionId = requireSession(incoming);
      incoming.facts.sessionId = sessionId;
      const record = await this.#parts.sessions.find(mount.serverId, sessionId, incoming.principal);
      const lastEventId = incoming.headers['last-event-id'];
      let current = record.upstreamSessionId === '' ? await this.#renew(mount, incoming, record) : record;
      let attempts = 0;
      let resume = typeof lastEventId === 'string' ? lastEventId : undefined;
      const id = randomUUID();
      const request = (): UpstreamRequest => ({
        method: 'GET',
        session: current,
        headers: mount.headers.forward('GET', incoming.headers, false),
        body: undefined,
        lastEventId: resume,
      });
      const plan = this.#plan(mount, incoming, admission, {
        id,
        request: request(),
        idTexts: [],
        sessionId,
        timeoutMs: null,
        onListChanged: mount.lists.enabled ? () => this.#parts.store.dropLists(record) : undefined,
        again: async (status) => {
          attempts++;
          if (status === 409) {
            if (attempts > SECOND_STREAM_ATTEMPTS) throw new AdapterError('stream_conflict');
            await this.#dropOtherStreams(mount, sessionId, id, attempts);
            return request();
          }
          if (attempts > 2) throw new AdapterError('upstream_session_terminated');
          current = await this.#renew(mount, incoming, current);
          // The new upstream session has never sent the event that the client saw last.
          resume = undefined;
          return request();
        },
        onFinish: () => undefined,
      });
      new Exchange(plan).start();
    } catch (error) {
      sendError(incoming, this.#known(error), []);
    }
  }

  /** The upstream allows one stream at a time: the latest wins, wherever the other one is held. */
  async #dropOtherStreams(mount: Mount, sessionId: string, id: string, attempt: number): Promise<void> {
    const gone = Promise.withResolvers<void>();
    const timer = setTimeout(gone.resolve, 50 * 2 ** attempt);
    await this.#parts.bus.publish({ type: 'drop-get', serverId: mount.serverId, sessionId, except: id });
    await gone.promise;
    clearTimeout(timer);
  }

  async delete(mount: Mount, incoming: Incoming): Promise<void> {
    try {
      requireHeaders(mount, incoming);
      const sessionId = requireSession(incoming);
      incoming.facts.sessionId = sessionId;
      const record = await this.#parts.sessions.remove(mount.serverId, sessionId, incoming.principal);
      if (record === undefined) throw new AdapterError('session_not_found');
      await this.#endUpstream(mount, record, mount.headers.forward('DELETE', incoming.headers, false));
      await this.#parts.bus.publish({ type: 'session-ended', serverId: mount.serverId, sessionId });
      incoming.facts.outcome = 'ok';
      incoming.reply.writeHead(200, { 'content-length': 0 }).end();
    } catch (error) {
      sendError(incoming, this.#known(error), []);
    }
  }

  async #endUpstream(mount: Mount, session: UpstreamSession, headers: readonly string[]): Promise<void> {
    try {
      if (mount.breaker.state(Date.now()) !== 'open') {
        await mount.upstream.endSession(session, headers, END_SESSION_TIMEOUT_MS);
      }
    } catch {
      // The adapter's session has ended all the same; the upstream expires its own.
    }
  }

  async #cancelUpstream(mount: Mount, incoming: Incoming, record: SessionRecord, idTexts: readonly string[]): Promise<void> {
    const headers = mount.headers.forward('POST', incoming.headers, false);
    for (const idText of idTexts) {
      const params = `{"requestId":${idText},"reason":"The time limit of the call is over."}`;
      const message = { method: 'notifications/cancelled', params, notification: true };
      try {
        await ownRequest(mount.upstream, { session: record, headers, message, timeoutMs: END_SESSION_TIMEOUT_MS });
      } catch {
        // The client has its answer; an upstream that cannot be told either goes on for nothing.
      }
    }
  }

  // ── common to all ──────────────────────────────────────────────────────────────────────────────────────────────

  #plan(mount: Mount, incoming: Incoming, admission: Admission, own: OwnPlan): Plan {
    const probe = admission.kind === 'probe' ? new Probe(mount) : NO_PROBE;
    // Every member always, in one order: V8 then knows one shape of plans only.
    return {
      id: own.id ?? '',
      serverId: mount.serverId,
      upstream: mount.upstream,
      request: own.request,
      reply: incoming.reply,
      keepAlive: this.#parts.keepAlive,
      running: this.#parts.running,
      idTexts: own.idTexts,
      sessionId: own.sessionId,
      timeoutMs: own.timeoutMs,
      onTimeout: own.onTimeout ?? timedOut,
      onResponse: own.onResponse,
      holdHead: own.holdHead ?? false,
      again: own.again,
      onHead: (head) => {
        probe.answered(head.status);
        return rejectedHead(mount, head);
      },
      onListChanged: own.onListChanged,
      known: this.#knownError,
      onFinish: (outcome) => {
        incoming.facts.outcome = outcome;
        probe.finished(outcome);
        return own.onFinish();
      },
    };
  }

  #onControl(message: ControlMessage): void {
    const exchanges = this.#parts.running.of(message.serverId, message.sessionId);
    switch (message.type) {
      case 'session-ended':
        for (const exchange of exchanges) {
          if (exchange.isGet) exchange.endStream();
          else exchange.finish('session_ended');
        }
        break;
      case 'drop-get':
        for (const exchange of exchanges) if (exchange.isGet && exchange.id !== message.except) exchange.endStream();
        break;
      case 'cancelled':
        for (const exchange of exchanges) {
          if (!exchange.idTexts.includes(message.requestId)) continue;
          setTimeout(() => exchange.finish('cancelled'), CANCEL_GRACE_MS).unref();
        }
        break;
      case 'upstream-closed':
        break;
    }
  }

  readonly #knownError = (error: unknown): AdapterError => this.#known(error);

  #known(error: unknown): AdapterError {
    if (error instanceof AdapterError) return error;
    if (error instanceof Error && error.name === 'StoreUnavailable') {
      return new AdapterError('state_unavailable', undefined, { cause: error });
    }
    this.#parts.onError(error);
    return new AdapterError('internal', undefined, { cause: error });
  }
}

function timedOut(): AdapterError {
  return new AdapterError('upstream_timeout');
}

function requestIds(body: Body): string[] {
  const ids: string[] = [];
  for (const message of body.messages) if (message.kind === 'request') ids.push(message.idText);
  return ids;
}

function requireHeaders(mount: Mount, incoming: Incoming): void {
  for (const name of mount.requiredHeaders) {
    const value = incoming.headers[name];
    if (value !== undefined && value !== '') continue;
    throw new AdapterError('missing_client_header', `The header ${name} is required by this server and is missing.`);
  }
}

function requireSession(incoming: Incoming): string {
  const sessionId = incoming.headers['mcp-session-id'];
  if (typeof sessionId !== 'string' || sessionId === '') throw new AdapterError('missing_session');
  return sessionId;
}

function admit(mount: Mount): Admission {
  const admission = mount.breaker.admit(Date.now());
  if (admission.kind !== 'reject') return admission;
  const detail = `The upstream server "${mount.serverId}" is unhealthy; requests are rejected for now.`;
  throw new AdapterError('upstream_unavailable', detail, { retryAfter: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)) });
}

const NO_PROBE = { answered: (): void => {}, finished: (): void => {} };

/** Tells the breaker, once, what a request of its half-open state has shown. */
class Probe {
  readonly #mount: Mount;
  #told = false;

  constructor(mount: Mount) {
    this.#mount = mount;
  }

  /** The head decides: a stream may stay open for hours. */
  answered(status: number): void {
    if (this.#told) return;
    this.#told = true;
    if (status < 500) this.#mount.breaker.probeSucceeded();
    else this.#mount.breaker.probeFailed(Date.now());
  }

  finished(outcome: Outcome): void {
    if (this.#told) return;
    this.#told = true;
    if (outcome === 'upstream_broke' || outcome === 'timeout') this.#mount.breaker.probeFailed(Date.now());
    else this.#mount.breaker.probeAbandoned();
  }
}

function refuseDisabled(mount: Mount, call: Message): void {
  if (!mount.disabled.any) return;
  const name = toolName(call);
  if (name === undefined) throw new AdapterError('unknown_tool', 'The tool call names no tool.');
  if (mount.disabled.matches(name)) throw new AdapterError('unknown_tool', `Unknown tool: ${name}`);
}

/** Answers that say something about the configuration of the adapter, not to the client. */
function rejectedHead(mount: Mount, head: ResponseHead): AdapterError | undefined {
  const { status } = head;
  if (status < 300 || status === 400 || status === 404) return undefined;
  if (status < 400) {
    const detail = `The upstream server redirects to ${String(head.headers.location)}; set upstream.url to its new place.`;
    return new AdapterError('upstream_failed', detail);
  }
  if ((status === 401 || status === 403) && !mount.relaysChallenges) {
    return new AdapterError('upstream_failed', `The upstream server refused the adapter's credentials (HTTP ${status}).`);
  }
  return undefined;
}

function requestTimeout(body: Body): number | null {
  const openEnded = body.messages.some((message) => message.kind === 'request' && OPEN_ENDED.has(message.method));
  return openEnded ? null : REQUEST_TIMEOUT_MS;
}

function longest(limits: readonly (number | null)[]): number | null {
  let max = 0;
  for (const limit of limits) {
    if (limit === null) return null;
    max = Math.max(max, limit);
  }
  return max;
}

/** A call that ran out of time, as a result that a model can read (decisions; the call may still have had effects). */
function timeoutResults(mount: Mount, calls: readonly Message[], limits: readonly (number | null)[]): string {
  const results = calls.map((call, i) => {
    const seconds = (limits[i] ?? 0) / 1000;
    const text =
      `The tool "${toolName(call) ?? ''}" of the server "${mount.serverId}" did not finish within its limit of ${seconds} ` +
      'seconds and was cancelled. It may have had effects already.';
    const result = { content: [{ type: 'text', text }], isError: true, resultType: 'complete' };
    return `{"jsonrpc":"2.0","id":${(call as Request).idText},"result":${JSON.stringify(result)}}`;
  });
  return results.length === 1 ? (results[0] ?? '') : `[${results.join(',')}]`;
}

function negotiated(text: string): string | undefined {
  try {
    const { result } = JSON.parse(text) as { result?: { protocolVersion?: unknown } };
    return typeof result?.protocolVersion === 'string' ? result.protocolVersion : undefined;
  } catch {
    return undefined;
  }
}

function transformTools(mount: Mount, text: string): string {
  const result = locate(text, ['result']);
  if (result === undefined) return text;
  return splice(text, [{ ...result, with: visibleTools(text.slice(result.start, result.end), mount.disabled) }]);
}

function transformLists(mount: Mount, record: SessionRecord, text: string, list: string | undefined): string {
  if (list === undefined) return text;
  const out = list.startsWith('tools/list') ? transformTools(mount, text) : text;
  const result = locate(out, ['result']);
  if (result !== undefined) mount.lists.set(record, list, out.slice(result.start, result.end), Date.now());
  return out;
}

function cancelledRequest(message: Message, body: Body): string | undefined {
  if (body.batch || message.kind !== 'notification' || message.method !== 'notifications/cancelled') return undefined;
  const span = locate(body.text, ['params', 'requestId']);
  return span === undefined ? undefined : body.text.slice(span.start, span.end);
}

/** Answers with one JSON-RPC error for each request in the body. */
export function sendError(incoming: Incoming, error: AdapterError, idTexts: readonly string[]): void {
  incoming.facts.outcome = error.code;
  const { reply } = incoming;
  if (reply.headersSent) {
    reply.end();
    return;
  }
  if (error.retryAfter !== undefined) reply.setHeader('retry-after', String(error.retryAfter));
  const ids = idTexts.length === 0 ? ['null'] : idTexts;
  const texts = ids.map((idText) => rpcErrorText(error.code, error.message, idText));
  sendJson(reply, error.status, texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`, undefined);
}

function sendJson(reply: ServerResponse, status: number, text: string, sessionId: string | undefined): void {
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  reply.writeHead(status, headers);
  reply.end(text);
}
