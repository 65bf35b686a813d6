import type { Redact } from '../../lib/redaction/redact.ts';
import type { Caches } from '../caches.ts';
import { type Body, type Message, METHOD_NOT_FOUND, type Request } from '../exchange/message.ts';
import { elements } from '../exchange/scanning/json-scan.ts';
import type { ParameterHeader } from '../exchange/sessionless-headers.ts';
import type { ResponseSink, Upstream, UpstreamRequest, UpstreamSession } from '../exchange/upstream.ts';
import type { BusKey, ControlMessage, MessageBus } from '../state/message-bus.ts';
import { declaredParameters } from '../tools/tool-parameters.ts';
import { ToolInventory } from '../tools/tool-inventory.ts';
import { ToolListings } from '../tools/tool-listings.ts';
import { answerCarrier, isAskedId } from './ask-client.ts';
import { bridgedSessionId } from './bridged-session.ts';
import { ClientSide } from './client-side.ts';
import { Discoveries, type Discovery } from './discoveries.ts';
import { ListenStream } from './listen-stream.ts';
import { credentialHeaders, credentialKey, identityOf } from './newer-request.ts';
import { OlderCall } from './older-call.ts';
import { LOG_LEVELS } from './log-levels.ts';
import { olderGreeting, takesSubscriptions, toldOf } from './older-greeting.ts';

export interface OlderClientsDeps {
  readonly serverId: string;
  /** Of the newer revision. */
  readonly upstream: Upstream;
  readonly bus: MessageBus;
  readonly caches: Caches;
  readonly redact: Redact;
  readonly listTtlMs: number;
  /** A request of a client has come to its end, after so many rounds of questions. */
  readonly onRounds: (rounds: number) => void;
}

const EMPTY = '{}';

/** Clients with sessions at a server that knows none (MCP 2026-07-28): what they say is answered here, or said as that wants it. */
export class OlderClients {
  readonly #deps: OlderClientsDeps;
  readonly discoveries: Discoveries;
  readonly #inventory: ToolInventory;
  readonly #listings = new ToolListings<readonly ParameterHeader[]>(declaredParameters);
  readonly #calls = new Map<string, Set<OlderCall>>();
  readonly #streams = new Map<string, Set<{ readonly stream: ListenStream; readonly uris: Set<string> }>>();
  readonly #unsubscribe: () => void;

  constructor(deps: OlderClientsDeps) {
    this.#deps = deps;
    this.discoveries = new Discoveries(deps.upstream, deps.listTtlMs);
    this.#inventory = new ToolInventory(deps.listTtlMs, deps.caches);
    this.#unsubscribe = deps.bus.onControl((message) => this.#onControl(message));
  }

  close(): void {
    this.#unsubscribe();
  }

  /** What the server says of itself to whoever sends these headers; undefined where it does not speak the newer revision. */
  discover(headers: readonly string[]): Promise<Discovery | undefined> {
    const credentials = credentialHeaders(headers);
    return this.discoveries.of(credentialKey(credentials), credentials);
  }

  /** Answers `initialize`. */
  greet(request: UpstreamRequest, sink: ResponseSink, discovery: Discovery): void {
    const message = request.body?.messages[0] as Request;
    const result = olderGreeting(message.params['protocolVersion'], discovery);
    sink.onHead({
      status: 200,
      headers: { 'content-type': 'application/json' },
      upstreamSessionId: bridgedSessionId,
    });
    sink.onData(Buffer.from(`{"jsonrpc":"2.0","id":${message.idText},"result":${result}}`));
    sink.onEnd();
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    if (request.method === 'GET') this.#stream(request, sink);
    else this.#post(request, request.body as Body, sink);
  }

  #post(request: UpstreamRequest, body: Body, sink: ResponseSink): void {
    const session = request.session as UpstreamSession;
    const requests = body.messages.filter((message) => message.kind === 'request');
    const client = new ClientSide(sink, requests.length);
    const calls: OlderCall[] = [];
    sink.onStart({
      pause: () => calls.forEach((call) => call.pause()),
      resume: () => calls.forEach((call) => call.resume()),
      abort: () => {
        client.leave();
        for (const call of calls) call.abort();
      },
    });
    for (const { message, text } of textsOf(body)) {
      if (message.kind === 'response') this.#answered(session, message, text, client);
      else if (message.kind === 'request') {
        const call = this.#request(request, session, { message, text }, client);
        if (call !== undefined) calls.push(call);
      }
    }
    if (requests.length === 0 && body.messages.every(({ kind }) => kind === 'notification')) client.accepted();
  }

  #request(
    request: UpstreamRequest,
    session: UpstreamSession,
    { message, text }: { readonly message: Request; readonly text: string },
    client: ClientSide,
  ): OlderCall | undefined {
    if (message.method === 'resources/subscribe' || message.method === 'resources/unsubscribe') {
      this.#subscribe(request, session, message, client).catch((error: unknown) =>
        client.failed(error as Error, false),
      );
      return undefined;
    }
    const own = ownAnswer(message);
    if (own !== undefined) {
      client.response(own);
      return undefined;
    }
    const { upstream, bus, onRounds } = this.#deps;
    const call = new OlderCall(
      {
        upstream,
        bus,
        parameters: (headers, tool, again) => this.#parameters(headers, tool, again),
        onOtherRevision: () => this.discoveries.forget(credentialKey(credentialHeaders(request.headers))),
        onRounds,
      },
      {
        message,
        text,
        headers: request.headers,
        client: identityOf(session.initializeParams ?? EMPTY),
        logLevel: levelIn(session.logLevel),
        key: busKey(session),
        holder: request.holder,
      },
      client,
    );
    const key = callKey(session.sessionId, message.idText);
    const remove = added(this.#calls, key, call);
    void call.run().finally(remove);
    return call;
  }

  /** An answer to a question; whoever asked it may be at another replica. */
  #answered(session: UpstreamSession, { idText }: { readonly idText: string }, text: string, client: ClientSide): void {
    if (!isAskedId(idText)) return client.accepted();
    const entry = { carrier: answerCarrier(idText), message: text, isAnswer: true };
    this.#deps.bus.append(busKey(session), entry).then(
      () => client.accepted(),
      (error: unknown) => client.failed(error as Error, false),
    );
  }

  async #subscribe(
    request: UpstreamRequest,
    { serverId, sessionId }: UpstreamSession,
    { method, idText, params }: Request,
    client: ClientSide,
  ): Promise<void> {
    const { uri } = params;
    const discovery = await this.discover(request.headers);
    if (discovery === undefined || !takesSubscriptions(discovery)) return client.response(noSuchMethod(idText));
    if (typeof uri !== 'string') return client.response(invalidParams(idText, 'params.uri must be a string.'));
    const isOn = method === 'resources/subscribe';
    await this.#deps.bus.publish({ type: 'subscribed', serverId, sessionId, uri, isOn });
    client.response(`{"jsonrpc":"2.0","id":${idText},"result":{}}`);
  }

  #stream(request: UpstreamRequest, sink: ResponseSink): void {
    const { sessionId, subscriptions, initializeParams = EMPTY } = request.session as UpstreamSession;
    const client = new ClientSide(sink, 1);
    let stream: ListenStream | undefined;
    let isOver = false;
    let isPaused = false;
    sink.onStart({
      pause: () => {
        isPaused = true;
        stream?.pause();
      },
      resume: () => {
        isPaused = false;
        stream?.resume();
      },
      abort: () => {
        isOver = true;
        client.leave();
        stream?.abort();
      },
    });
    const open = async (): Promise<void> => {
      const discovery = await this.discover(request.headers);
      if (isOver) return;
      const told = discovery === undefined ? {} : toldOf(discovery);
      if (discovery === undefined || (Object.keys(told).length === 0 && !takesSubscriptions(discovery))) {
        return client.refused({ status: 405, headers: {}, upstreamSessionId: null }, Buffer.alloc(0));
      }
      const uris = new Set(takesSubscriptions(discovery) ? subscriptions : []);
      const { headers } = request;
      const identity = identityOf(initializeParams);
      const { upstream } = this.#deps;
      stream = new ListenStream({ upstream, headers, client: identity, told, subscriptions: uris }, client);
      if (isPaused) stream.pause();
      const remove = added(this.#streams, sessionId, { stream, uris });
      await stream.run().finally(remove);
    };
    open().catch((error: unknown) => client.failed(error as Error, false));
  }

  async #parameters(headers: readonly string[], tool: string, again: boolean): Promise<readonly ParameterHeader[]> {
    const { serverId, upstream, redact } = this.#deps;
    const base = credentialHeaders(headers);
    const request = { serverId, upstream, redact, inventory: this.#inventory, clientKey: credentialKey(base), base };
    const { byTool } = await this.#listings.of({ ...request, inSession: undefined }, again);
    return byTool.get(tool) ?? [];
  }

  #onControl(message: ControlMessage): void {
    if (message.serverId !== this.#deps.serverId) return;
    if (message.type === 'cancelled') {
      const calls = this.#calls.get(callKey(message.sessionId, message.requestId));
      for (const call of calls ?? []) call.abort();
    } else if (message.type === 'subscribed') {
      for (const { stream, uris } of this.#streams.get(message.sessionId) ?? []) {
        const has = uris.has(message.uri);
        if (has === message.isOn) continue;
        if (message.isOn) uris.add(message.uri);
        else uris.delete(message.uri);
        stream.refresh();
      }
    }
  }
}

/** What is answered without the server; undefined: it is asked. */
function ownAnswer({ method, idText, params }: Request): string | undefined {
  const result = `{"jsonrpc":"2.0","id":${idText},"result":{}}`;
  if (method === 'ping') return result;
  if (method !== 'logging/setLevel') return undefined;
  const { level } = params;
  if (typeof level === 'string' && LOG_LEVELS.has(level)) return result;
  return invalidParams(idText, `params.level must be one of ${[...LOG_LEVELS].join(', ')}.`);
}

const invalidParams = (idText: string, message: string): string =>
  `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify({ code: -32602, message })}}`;

const noSuchMethod = (idText: string): string =>
  `{"jsonrpc":"2.0","id":${idText},"error":{"code":${METHOD_NOT_FOUND},"message":"Method not found"}}`;

/** JSON text of the level in the parameters of `logging/setLevel` (JSON text). */
function levelIn(params: string | null | undefined): string | undefined {
  if (params === null || params === undefined) return undefined;
  const { level } = JSON.parse(params) as { level?: unknown };
  return level === undefined ? undefined : JSON.stringify(level);
}

/** The messages of a body with their own texts. */
function textsOf({ batch, text, messages }: Body): { readonly message: Message; readonly text: string }[] {
  if (!batch) return messages.map((message) => ({ message, text }));
  const spans = [...elements(text)];
  return messages.map((message, index) => ({ message, text: text.slice(spans[index]?.start, spans[index]?.end) }));
}

/** Adds to the set of a key. @returns what takes it out again */
function added<T>(map: Map<string, Set<T>>, key: string, value: T): () => void {
  const set = map.get(key) ?? new Set();
  map.set(key, set.add(value));
  return () => {
    set.delete(value);
    if (set.size === 0) map.delete(key);
  };
}

const busKey = ({ serverId, sessionId, generation }: UpstreamSession): BusKey => ({ serverId, sessionId, generation });
const callKey = (sessionId: string, idText: string): string => `${sessionId}\n${idText}`;
