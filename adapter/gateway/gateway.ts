import { AdapterError } from '../errors.ts';
import { elements } from '../exchange/json-scan.ts';
import { type Body, type Message, parseBody, type Request, toolName } from '../exchange/message.ts';
import { isModern, saysModern } from '../exchange/modern-headers.ts';
import { argumentsText } from '../telemetry/audit-arguments.ts';
import { sessionEnd } from '../sessions/session-end.ts';
import type { ControlMessage } from '../state/message-bus.ts';
import type { TracedRequest } from '../telemetry/tracing.ts';
import { requireHeaders, requireSession } from './admission.ts';
import { admit, type Admitted, NO_PROBE } from './admitted.ts';
import { sendError } from './answers.ts';
import { challenged } from './challenge.ts';
import { eventStream } from './event-stream.ts';
import { inSession } from './in-session.ts';
import type { CallFacts, Incoming, RequestFacts } from './incoming.ts';
import { initialize } from './initialize.ts';
import type { RequestTrace } from './request-trace.ts';
import { tellAndEndUpstream } from './session-upstream.ts';
import { sessionless } from './sessionless.ts';
import type { GatewayParts, Mount, Turn } from './turn.ts';
import { WITHOUT_SESSION_BYTES } from '../limits.ts';

/** A cancelled request that the upstream leaves unanswered is given up after this long. */
const CANCEL_GRACE_MS = 5_000;

/**
 * What happens to a request on a mount, up to the exchange with the upstream:
 *
 *     POST ─ required headers ─ breaker ─┬─ sessionless ─ headers = body? ─ tool policy ─ exchange
 *                                        ├─ initialize ─ a place ─ exchange ─ a session
 *                                        └─ in session ─ limits ─ tool policy ─ cached list? ─ exchange
 *     GET ── required headers ─ breaker ─── event stream ─ exchange
 *     DELETE  required headers ──────────── the session ends here, upstream, and on all replicas
 */
export class Gateway {
  readonly #parts: GatewayParts;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    parts.bus.onControl((message) => this.#onControl(message));
  }

  /**
   * Asked before more than a little of a body is read: how many bytes of it there is use for. Throws for callers that get
   * nothing in any case.
   */
  async largestBody(mount: Mount, incoming: Incoming): Promise<number> {
    requireHeaders(mount, incoming);
    const { headers } = incoming;
    if (headers['mcp-session-id'] !== undefined) {
      incoming.facts.sessionId = requireSession(incoming);
      await this.#parts.sessions.find(mount.serverId, incoming.facts.sessionId, incoming.principal);
      return Infinity;
    }
    return saysModern(headers) ? Infinity : WITHOUT_SESSION_BYTES;
  }

  /** Answers a request that is refused whatever it says; `bytes` are what has been read of it, perhaps nothing. */
  refuse(incoming: Incoming, error: AdapterError, bytes: Buffer): void {
    if (bytes.length === 0) return sendError(incoming, error, []);
    const body = parseBody(bytes);
    return sendError(incoming, error, 'code' in body ? [body.idText] : requestIds(body));
  }

  async post(mount: Mount, incoming: Incoming, bytes: Buffer): Promise<void> {
    const body = parseBody(bytes);
    if ('code' in body) {
      const code = body.code === -32700 ? 'parse_error' : 'invalid_request';
      this.#trace(mount, incoming, 'POST', undefined);
      sendError(incoming, new AdapterError(code, body.detail), [body.idText]);
      return;
    }
    const first = body.messages[0] as Message;
    note(incoming, body, first);
    const { hashArguments } = this.#parts;
    if (hashArguments !== undefined) noteArguments(incoming.facts, body, hashArguments);
    const trace = this.#trace(mount, incoming, 'POST', body);
    const idTexts = requestIds(body);
    let admitted = NO_PROBE;
    this.#parts.running.enter();
    try {
      admitted = open(mount, incoming);
      const turn = { parts: this.#parts, mount, incoming, admitted, trace };
      if (!body.batch && isModern(first, incoming.headers)) return await sessionless(turn, body, idTexts);
      if (body.messages.some((m) => m.kind === 'request' && m.method === 'initialize')) {
        if (body.batch) throw new AdapterError('invalid_request', 'initialize must not be part of a batch.');
        return await initialize(turn, body, first as Request);
      }
      return await inSession(turn, body, idTexts);
    } catch (error) {
      await this.#refuse({ parts: this.#parts, mount, incoming, admitted, trace }, error, idTexts);
    } finally {
      this.#parts.running.leave();
    }
  }

  async get(mount: Mount, incoming: Incoming): Promise<void> {
    const trace = this.#trace(mount, incoming, 'GET', undefined);
    let admitted = NO_PROBE;
    try {
      admitted = open(mount, incoming);
      await eventStream({ parts: this.#parts, mount, incoming, admitted, trace });
    } catch (error) {
      await this.#refuse({ parts: this.#parts, mount, incoming, admitted, trace }, error, []);
    }
  }

  async delete(mount: Mount, incoming: Incoming): Promise<void> {
    const trace = this.#trace(mount, incoming, 'DELETE', undefined);
    const { sessions, sessionFiles } = this.#parts;
    try {
      requireHeaders(mount, incoming);
      const sessionId = requireSession(incoming);
      const record = await sessions.remove(mount.serverId, sessionId, incoming.principal);
      if (record === undefined) throw new AdapterError('session_not_found');
      this.#parts.telemetry.session(sessionEnd(record, 'ended', this.#parts.store.now()));
      const turn = { parts: this.#parts, mount, incoming, admitted: NO_PROBE, trace };
      await Promise.all([tellAndEndUpstream(turn, record), sessionFiles.purge(record)]);
      incoming.facts.outcome = 'ok';
      incoming.reply.writeHead(200, { 'content-length': 0, 'x-request-id': incoming.facts.requestId }).end();
    } catch (error) {
      sendError(incoming, this.#parts.known(error), []);
    }
  }

  /** Begins the span of a request; undefined without traces. */
  #trace(
    { serverId, path: route }: Mount,
    { headers, reply, facts, within }: Incoming,
    httpMethod: TracedRequest['httpMethod'],
    body: Body | undefined,
  ): RequestTrace | undefined {
    return this.#parts.tracing?.begin({ serverId, route, httpMethod, body, headers, reply, facts, within });
  }

  async #refuse(turn: Turn, error: unknown, idTexts: readonly string[]): Promise<void> {
    const { incoming, admitted } = turn;
    const known = this.#parts.known(error);
    if (await challenged(turn, known, idTexts)) return;
    admitted.finished(known.code);
    sendError(incoming, known, idTexts);
  }

  /** What another replica, or this one, has found out about a session. */
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
          if (exchange.idTexts.includes(message.requestId)) exchange.cancel(message.requestId, CANCEL_GRACE_MS);
        }
        break;
      case 'notify':
        // Every message goes to the client on exactly one stream (MCP, Streamable HTTP).
        for (const exchange of exchanges) if (exchange.isGet && exchange.notify(message.text)) break;
        break;
      case 'upstream-closed':
      case 'stream-opened':
      case 'stream-coming':
      case 'stream-settled':
        break;
    }
  }
}

/** Lets a request in, before anything is known of its session. */
function open(mount: Mount, incoming: Incoming): Admitted {
  requireHeaders(mount, incoming);
  return admit(mount);
}

/** For log and telemetry. */
function note({ facts, headers }: Incoming, body: Body, first: Message): void {
  if (first.kind !== 'response') facts.rpcMethod = body.batch ? 'batch' : first.method;
  const version = headers['mcp-protocol-version'];
  if (typeof version === 'string') facts.protocolVersion = version;
  if (body.batch) facts.calls = callsIn(body);
  else if (isCall(first)) facts.tool = toolName(first) ?? '';
}

/** For the audit log. */
function noteArguments(
  facts: RequestFacts,
  { text, messages, batch }: Body,
  hash: (argumentsText: string) => string | undefined,
): void {
  const hashed = (at: number): string | undefined => {
    const found = argumentsText(text, at);
    return found === undefined ? undefined : hash(found);
  };
  if (!batch) {
    const one = facts.tool === undefined ? undefined : hashed(0);
    if (one !== undefined) facts.argumentsHash = one;
    return;
  }
  const calls = facts.calls?.values();
  let index = 0;
  for (const { start } of elements(text)) {
    const message = messages[index++];
    if (message === undefined || !isCall(message)) continue;
    const call = calls?.next().value;
    const one = call === undefined ? undefined : hashed(start);
    if (call !== undefined && one !== undefined) call.argumentsHash = one;
  }
}

function callsIn(body: Body): CallFacts[] {
  return body.messages.filter(isCall).map((call) => ({ tool: toolName(call) ?? '', idText: call.idText }));
}

const isCall = (message: Message): message is Request => message.kind === 'request' && message.method === 'tools/call';

function requestIds(body: Body): string[] {
  const ids: string[] = [];
  for (const message of body.messages) if (message.kind === 'request') ids.push(message.idText);
  return ids;
}
