import type { ServerResponse } from 'node:http';

import { AdapterError } from '../errors.ts';
import { type Body, isCall, type Message, parseBody, toolName } from '../exchange/message.ts';
import { isSessionless, saysSessionless } from '../exchange/sessionless-headers.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import type { Mount } from '../mount/mount.ts';
import type { Sends } from '../path/paths.ts';
import type { RequestTrace } from '../exchange/request-trace.ts';
import { longest, requestTimeout } from '../path/time-limits.ts';
import { WITHOUT_SESSION_BYTES } from '../limits.ts';
import type { Caller } from '../path/caller.ts';
import { failed } from '../path/ending.ts';
import { Operation } from '../path/operation.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import { sessionEnd } from '../sessions/session-end.ts';
import { INITIALIZE_TIMEOUT_MS, type SessionRegistry } from '../sessions/session-registry.ts';
import type { StateStore } from '../state/state-store.ts';
import { sessionIdOf } from '../steps/sessions/in-session.ts';
import { RequiredHeaders } from '../steps/required-headers.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { TracedRequest, Tracing } from '../telemetry/traces/tracing.ts';
import { HttpReply, type HttpReplyDeps } from './http-reply.ts';
import { type HashArguments, recordRequest } from './recorded-request.ts';
import { sendError } from './send-error.ts';

export interface HttpCallerDeps extends HttpReplyDeps {
  readonly store: Pick<StateStore, 'now'>;
  readonly sessions: Pick<SessionRegistry, 'find' | 'remove'>;
  readonly sessionFiles: Pick<SessionFiles, 'purge'>;
  readonly telemetry: Pick<Telemetry, 'session'>;
  /** Undefined without traces. */
  readonly tracing: Pick<Tracing, 'begin'> | undefined;
  /** The audit log names the arguments of calls by their hash. Undefined without it; gives none while the key is not there. */
  readonly hashArguments: HashArguments | undefined;
}

/** Clients of one mount over Streamable HTTP: what they send becomes operations, or is refused here. */
export class HttpCaller {
  readonly #mount: Mount;
  readonly #client: ClientUpstream;
  readonly #parts: HttpCallerDeps;
  readonly #required: RequiredHeaders;
  readonly #sends: Sends;

  constructor(mount: Mount, client: ClientUpstream, sends: Sends, parts: HttpCallerDeps) {
    this.#mount = mount;
    this.#client = client;
    this.#parts = parts;
    this.#required = new RequiredHeaders(mount.requiredHeaders);
    this.#sends = sends;
  }

  /**
   * Asked before more than a little of a body is read: how many bytes of it there is use for. Throws for callers that get
   * nothing in any case.
   */
  async largestBody(caller: Caller): Promise<number> {
    const { headers, attributes, principal } = caller;
    this.#required.check(headers);
    if (headers['mcp-session-id'] !== undefined) {
      attributes.sessionId = sessionIdOf(caller);
      await this.#parts.sessions.find(this.#mount.serverId, attributes.sessionId, principal);
      return Infinity;
    }
    return saysSessionless(headers) ? Infinity : WITHOUT_SESSION_BYTES;
  }

  /** Answers a request that is refused whatever it says; `bytes` are what has been read of it, perhaps nothing. */
  refuse(reply: ServerResponse, caller: Caller, error: AdapterError, bytes: Buffer): void {
    if (bytes.length === 0) return sendError(reply, caller, error, []);
    const body = parseBody(bytes);
    const ids =
      'code' in body ? [body.idText] : body.messages.flatMap((one) => (one.kind === 'request' ? one.idText : []));
    sendError(reply, caller, error, ids);
  }

  post(res: ServerResponse, caller: Caller, bytes: Buffer): void {
    const body = parseBody(bytes);
    if ('code' in body) {
      this.#trace('POST', res, caller, undefined);
      const code = body.code === -32700 ? 'parse_error' : 'invalid_request';
      return sendError(res, caller, new AdapterError(code, body.detail), [body.idText]);
    }
    recordRequest(caller, body, this.#parts.hashArguments);
    const kind = this.#kindOf(body, caller);
    const operation = new Operation({
      serverId: this.#mount.serverId,
      method: 'POST',
      body,
      caller,
      trace: this.#trace('POST', res, caller, body),
      isSessionless: kind === 'sessionless' || kind === 'sessionlessCall',
      timeoutMs: kind === 'opening' ? INITIALIZE_TIMEOUT_MS : this.#limitOf(body),
      defersHead: kind === 'opening',
    });
    const reply = new HttpReply(operation, res, this.#parts);
    if (kind !== 'opening' || !body.batch) return this.#sends[kind](operation, reply);
    reply.end(failed(new AdapterError('invalid_request', 'initialize must not be part of a batch.')));
  }

  get(res: ServerResponse, caller: Caller): void {
    const trace = this.#trace('GET', res, caller, undefined);
    const { serverId } = this.#mount;
    const operation = new Operation({ serverId, method: 'GET', caller, trace, timeoutMs: null });
    this.#sends.stream(operation, new HttpReply(operation, res, this.#parts));
  }

  /** Ends a session: here, upstream, and on all replicas. */
  async delete(res: ServerResponse, caller: Caller): Promise<void> {
    const trace = this.#trace('DELETE', res, caller, undefined);
    const { sessions, sessionFiles, telemetry, store, known } = this.#parts;
    try {
      this.#required.check(caller.headers);
      const record = await sessions.remove(this.#mount.serverId, sessionIdOf(caller), caller.principal);
      if (record === undefined) throw new AdapterError('session_not_found');
      telemetry.session(sessionEnd(record, 'ended', store.now()));
      await Promise.all([this.#client.notifyAndEnd({ caller, trace }, record), sessionFiles.purge(record)]);
      caller.attributes.outcome = 'ok';
      res.writeHead(200, { 'content-length': 0, 'x-request-id': caller.attributes.requestId }).end();
    } catch (error) {
      sendError(res, caller, known(error), []);
    }
  }

  #kindOf({ batch, messages }: Body, { headers }: Caller): Exclude<keyof Sends, 'stream'> {
    const [first] = messages;
    const isOneCall = !batch && isCall(first as Message);
    if (!batch && isSessionless(first as Message, headers)) return isOneCall ? 'sessionlessCall' : 'sessionless';
    if (isOneCall) return 'sessionCall';
    return messages.some((one) => one.kind === 'request' && one.method === 'initialize') ? 'opening' : 'session';
  }

  #limitOf(body: Body): number | null {
    const limits = body.messages.filter(isCall).map((call) => this.#mount.timeoutOf(toolName(call)));
    return limits.length > 0 ? longest(limits) : requestTimeout(body);
  }

  /** Begins the span of a request; undefined without traces. */
  #trace(
    httpMethod: TracedRequest['httpMethod'],
    res: ServerResponse,
    { headers, attributes, within }: Caller,
    body: Body | undefined,
  ): RequestTrace | undefined {
    const { serverId, path: route } = this.#mount;
    return this.#parts.tracing?.begin({ serverId, route, httpMethod, body, headers, reply: res, attributes, within });
  }
}
