import { randomBytes } from 'node:crypto';

import { SESSIONLESS_REVISION, type Body, type Request } from '../../exchange/message.ts';
import type { ExchangePosition, ResponseSink, Upstream, UpstreamRequest } from '../../exchange/upstream.ts';
import { HandshakeFailed } from '../../upstream/handshake.ts';
import type { CallerSessions } from './caller-sessions.ts';
import { newSession } from '../wire/bridged-session.ts';
import { knownCallSession, openCallSession } from './call-session.ts';
import { ClientSide } from '../wire/client-side.ts';
import { Greetings, type Greeting } from './greetings.ts';
import { objectOf } from '../../../lib/json/json-object.ts';
import { noSuchMethod } from '../wire/responses.ts';
import { serverCapabilities } from '../wire/same-capabilities.ts';
import { KeptHearings } from './kept-hearings.ts';
import { NewerCall, type NewerCallDeps } from './newer-call.ts';
import { NewerStream } from './newer-stream.ts';
import { PassedQuestions, type PassingBus } from './passed-questions.ts';
import { SessionHearings } from './session-hearing.ts';
import { credentialHeaders, credentialKey } from '../wire/newer-request.ts';
import { RequestIdentities, type RequestIdentity } from './older-request.ts';
import { META } from '../../exchange/protocol-meta.ts';

export interface NewerClientsDeps {
  readonly serverId: string;
  /** Of the older revisions. */
  readonly upstream: Upstream;
  readonly bus: PassingBus;
  readonly listTtlMs: number;
  /** A request of a client has come to its end, after so many questions of the server. */
  readonly onRounds: (rounds: number) => void;
  /** Sessions that callers keep; undefined: each call has one of its own. */
  readonly callerSessions: CallerSessions | undefined;
  /** All callers have the same. */
  readonly sharesSessions: boolean;
}

/** Methods of sessions, which the newer revision does not have. */
const OF_SESSIONS = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
]);

/** Clients without sessions (MCP 2026-07-28) at a server that wants one: each of their requests gets one of its own. */
export class NewerClients {
  readonly #deps: NewerClientsDeps;
  readonly #greetings: Greetings;
  readonly #hearings: SessionHearings;
  readonly #keptHearings: KeptHearings;
  readonly #identities = new RequestIdentities();
  /** No two replicas name a request alike: they may share a session. */
  readonly #replica = randomBytes(9).toString('base64url');
  #sent = 0;
  /** By the names of their exchanges. */
  readonly #calls = new Map<string, NewerCall>();

  constructor(deps: NewerClientsDeps) {
    this.#deps = deps;
    this.#hearings = new SessionHearings(deps.upstream);
    const passed = deps.sharesSessions ? undefined : new PassedQuestions(deps.bus);
    this.#keptHearings = new KeptHearings(deps.upstream, this.#hearings, passed);
    this.#greetings = new Greetings(deps.serverId, deps.upstream, deps.listTtlMs);
  }

  /** Brings an answer (JSON text of a response) to what the server asked in this exchange. Rejects when it does not arrive. */
  async answer(exchange: string, text: string): Promise<void> {
    const call = this.#calls.get(exchange);
    if (call === undefined) throw new Error('the call has ended');
    await call.answer(text);
  }

  abandon(exchange: string): void {
    this.#calls.get(exchange)?.abandon();
  }

  close(): void {
    this.#keptHearings.close();
  }

  position(exchange: string): ExchangePosition | undefined {
    return this.#calls.get(exchange)?.position;
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const body = request.body as Body;
    const [message] = body.messages;
    const client = new ClientSide(sink, 1);
    if (message?.kind !== 'request') {
      sink.onStart({ pause: nothing, resume: nothing, abort: () => client.leave() });
      return client.accepted();
    }
    const headers = credentialHeaders(request.headers);
    if (message.method === 'subscriptions/listen') return this.#listen(message, headers, client, sink);
    if (message.method === 'server/discover') return this.#discover(message, headers, client, sink);
    if (OF_SESSIONS.has(message.method)) {
      sink.onStart({ pause: nothing, resume: nothing, abort: () => client.leave() });
      return client.response(noSuchMethod(message.idText), 404);
    }
    this.#call(request, message, body.text, headers, client, sink);
  }

  #call(
    request: UpstreamRequest,
    message: Request,
    text: string,
    headers: readonly string[],
    client: ClientSide,
    sink: ResponseSink,
  ): void {
    const { upstream } = this.#deps;
    const { exchange, holder, resumed } = request;
    const identity = this.#identities.of(message.params);
    const { asks, logLevel } = identity;
    const canBeTold = logLevel !== null || Object.values(asks).includes(true);
    const hearings = this.#keepsSession(request) ? this.#keptHearings : this.#hearings;
    const call = new NewerCall(
      {
        upstream,
        open: this.#sessions(request, headers, identity),
        hear:
          canBeTold && exchange !== undefined ? (session, onMessage) => hearings.open(session, onMessage) : undefined,
        onRounds: this.#deps.onRounds,
      },
      {
        message,
        text,
        asks,
        logs: logLevel !== null,
        name: `mcpa-${this.#replica}-${(this.#sent++).toString(36)}`,
        takesQuestions: exchange !== undefined,
        holder,
        resumed,
      },
      client,
    );
    sink.onStart({
      pause: () => call.pause(),
      resume: () => call.resume(),
      abort: () => {
        client.leave();
        call.abort();
      },
    });
    if (exchange !== undefined) this.#calls.set(exchange, call);
    void call.run().finally(() => {
      if (exchange !== undefined) this.#calls.delete(exchange);
    });
  }

  /** What the adapter asks by itself belongs to nobody. */
  #keepsSession({ principal }: UpstreamRequest): boolean {
    return this.#deps.callerSessions !== undefined && principal !== undefined;
  }

  /** How the session of a call is had. */
  #sessions(
    { resumed, principal }: UpstreamRequest,
    headers: readonly string[],
    identity: RequestIdentity,
  ): NewerCallDeps['open'] {
    const { serverId, upstream, callerSessions, sharesSessions } = this.#deps;
    if (callerSessions === undefined || principal === undefined) {
      if (resumed === undefined) return () => openCallSession(newSession(serverId), upstream, headers, identity);
      const { position } = resumed;
      return async () => knownCallSession({ serverId, ...position }, upstream, headers, position);
    }
    const owner = sharesSessions ? '' : principal;
    const caller = { principal: owner, credentials: credentialKey(headers), headers, identity };
    if (resumed !== undefined) return () => callerSessions.enterAgain(resumed.position, caller);
    return async (signal, lost) => {
      if (lost !== undefined) await callerSessions.renew(lost, caller, signal);
      return callerSessions.enter(caller, signal);
    };
  }

  #discover({ idText }: Request, headers: readonly string[], client: ClientSide, sink: ResponseSink): void {
    sink.onStart({ pause: nothing, resume: nothing, abort: () => client.leave() });
    this.#greetings.of(credentialKey(headers), headers).then(
      (greeting) => {
        const result = discoverResult(greeting, this.#deps.listTtlMs);
        client.response(`{"jsonrpc":"2.0","id":${idText},"result":${result}}`);
      },
      (error: unknown) => {
        const { status, body } = error instanceof HandshakeFailed ? error : { status: 0, body: '' };
        if (status !== 401 && status !== 403) return client.failed(error as Error, status !== 0);
        const head = { status, headers: { 'content-type': 'application/json' }, upstreamSessionId: null };
        client.refused(head, Buffer.from(body));
      },
    );
  }

  #listen(message: Request, headers: readonly string[], client: ClientSide, sink: ResponseSink): void {
    const { serverId, upstream } = this.#deps;
    const identity = this.#identities.of(message.params);
    const open = (): ReturnType<typeof openCallSession> =>
      openCallSession(newSession(serverId), upstream, headers, identity);
    const stream = new NewerStream({ upstream, open }, message, client);
    sink.onStart({
      pause: () => stream.pause(),
      resume: () => stream.resume(),
      abort: () => {
        client.leave();
        stream.abort();
      },
    });
    void stream.run();
  }
}

function discoverResult({ capabilities, serverInfo, instructions }: Greeting, ttlMs: number): string {
  const shown = serverCapabilities(objectOf(JSON.parse(capabilities ?? '{}')));
  return [
    `{"resultType":"complete","supportedVersions":["${SESSIONLESS_REVISION}"],"capabilities":${JSON.stringify(shown)}`,
    ...(instructions === undefined ? [] : [`"instructions":${instructions}`]),
    `"ttlMs":${Math.max(0, Math.round(ttlMs))},"cacheScope":"private"`,
    `"_meta":{${serverInfo === undefined ? '' : `"${META.serverInfo}":${serverInfo}`}}}`,
  ].join(',');
}

function nothing(): void {
  // There is nothing under way that could be held.
}
