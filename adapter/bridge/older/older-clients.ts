import type { Redact } from '../../../lib/redaction/redact.ts';
import type { Caches } from '../../caches.ts';
import { type Body, cancelledRequest, type Message, type Request } from '../../exchange/message.ts';
import { elements } from '../../exchange/scanning/json-scan.ts';
import type { ParameterHeader } from '../../exchange/sessionless-headers.ts';
import type { ResponseSink, Upstream, UpstreamRequest, UpstreamSession } from '../../exchange/upstream.ts';
import type { BusKey, ControlMessage, MessageBus, UnannouncedChange } from '../../state/message-bus.ts';
import { declaredParameters } from '../../tools/tool-parameters.ts';
import { ToolInventory } from '../../tools/tool-inventory.ts';
import { ToolListings } from '../../tools/tool-listings.ts';
import { answerCarrier, isAskedId } from './ask-client.ts';
import { bridgedSessionId } from '../wire/bridged-session.ts';
import { ClientSide } from '../wire/client-side.ts';
import { Discoveries, type Discovery } from './discoveries.ts';
import { credentialHeaders, credentialKey, identityOf } from '../wire/newer-request.ts';
import { OlderCall } from './older-call.ts';
import { olderGreeting, takesSubscriptions } from './older-greeting.ts';
import { OlderStreams } from './older-streams.ts';
import { errorResponse, noSuchMethod } from '../wire/responses.ts';
import { LOG_LEVELS } from '../wire/log-levels.ts';
import type { QuestionLimits } from '../wire/question-limits.ts';
import { Registry } from './registry.ts';
import { UnannouncedChanges } from './unannounced-changes.ts';

export interface OlderClientsDeps {
  readonly serverId: string;
  /** Of the newer revision. */
  readonly upstream: Upstream;
  readonly bus: MessageBus;
  readonly caches: Caches;
  readonly redact: Redact;
  readonly listTtlMs: number;
  readonly limits: QuestionLimits;
  /** A request of a client has come to its end, after so many rounds of questions. */
  readonly onRounds: (rounds: number) => void;
  /** The server does not tell of these changes, though it offers to. */
  readonly onUnannounced: (changes: readonly UnannouncedChange[]) => void;
}

/** What the newer revision answers otherwise, or has for other clients. */
const OF_NEWER = /^(server\/discover|subscriptions\/listen|tasks\/.*)$/;
const OF_DISCOVERY = new Set(['ping', 'resources/subscribe', 'resources/unsubscribe']);
/** Each is told to every replica. */
const MAX_URI_CHARS = 8 << 10;
const EMPTY = '{}';

/** Clients with sessions at a server that knows none (MCP 2026-07-28): what they say is answered here, or said as that wants it. */
export class OlderClients {
  readonly #deps: OlderClientsDeps;
  readonly #discoveries: Discoveries;
  readonly #inventory: ToolInventory;
  readonly #listings = new ToolListings<readonly ParameterHeader[]>(declaredParameters);
  readonly #calls = new Registry<OlderCall>();
  readonly #streams: OlderStreams;
  readonly #unannounced: UnannouncedChanges;
  readonly #unsubscribe: () => void;

  constructor(deps: OlderClientsDeps) {
    this.#deps = deps;
    this.#discoveries = new Discoveries(deps.upstream, deps.listTtlMs, deps.caches);
    this.#inventory = new ToolInventory(deps.listTtlMs, deps.caches);
    this.#unannounced = new UnannouncedChanges({ serverId: deps.serverId, bus: deps.bus, onFound: deps.onUnannounced });
    this.#streams = new OlderStreams({
      upstream: deps.upstream,
      discover: (headers) => this.discover(headers),
      isStillNewer: (headers) => this.#isStillNewer(headers),
      onLeftOut: (changes) => this.#unannounced.found(changes),
    });
    this.#unsubscribe = deps.bus.onControl((message) => this.#onControl(message));
  }

  close(): void {
    this.#unsubscribe();
  }

  /** What the server says of itself to whoever sends these headers; undefined where it does not speak the newer revision. */
  async discover(headers: readonly string[]): Promise<Discovery | undefined> {
    const discovery = await this.#discoveries.of(credentialKey(headers), credentialHeaders(headers));
    return discovery && this.#unannounced.without(discovery);
  }

  /** Answers `initialize`. */
  initialize(request: UpstreamRequest, sink: ResponseSink, discovery: Discovery): void {
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
    if (request.method === 'GET') this.#streams.open(request, sink);
    else this.#post(request, request.body as Body, sink);
  }

  #post(request: UpstreamRequest, body: Body, sink: ResponseSink): void {
    const session = request.session as UpstreamSession;
    const requests = body.messages.filter((message) => message.kind === 'request');
    const client = new ClientSide(sink, requests.length);
    const calls: OlderCall[] = [];
    let isPaused = false;
    let isOver = false;
    sink.onStart({
      pause: () => {
        isPaused = true;
        for (const call of calls) call.pause();
      },
      resume: () => {
        isPaused = false;
        for (const call of calls) call.resume();
      },
      abort: () => {
        isOver = true;
        client.leave();
        for (const call of calls) call.abort();
      },
    });
    if (isOver) return;
    const answered: Promise<unknown>[] = [];
    for (const one of textsOf(body)) {
      const { message } = one;
      if (message.kind === 'response') answered.push(this.#answered(session, message, one.text));
      else if (message.kind === 'notification') {
        if (body.batch) this.#cancelledInBatch(session, one);
      } else if (!this.#answersItself(request, session, message, client)) {
        calls.push(this.#call(request, session, { message, text: one.text }, client));
      }
    }
    if (isPaused) for (const call of calls) call.pause();
    Promise.all(answered).then(
      () => {
        if (requests.length === 0) client.accepted();
      },
      (error: unknown) => client.failed(error as Error, false),
    );
  }

  #call(
    request: UpstreamRequest,
    session: UpstreamSession,
    { message, text }: { readonly message: Request; readonly text: string },
    client: ClientSide,
  ): OlderCall {
    const { upstream, bus, onRounds } = this.#deps;
    const call = new OlderCall(
      {
        upstream,
        bus,
        parameters: (headers, tool, isRepeat) => this.#parameters(headers, tool, isRepeat),
        isStillNewer: () => this.#isStillNewer(request.headers),
        onRounds,
        limits: this.#deps.limits,
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
    const remove = this.#calls.add(callKey(session.sessionId, message.idText), call);
    void call.run().finally(remove);
    return call;
  }

  /** Whether a request is answered here; what has to do with the server's changes is so once it is known what it says of itself. */
  #answersItself(request: UpstreamRequest, session: UpstreamSession, message: Request, client: ClientSide): boolean {
    const { method, idText } = message;
    const own = ownAnswer(message);
    if (own !== undefined) {
      client.response(own);
      return true;
    }
    if (!OF_DISCOVERY.has(method)) return false;
    this.discover(request.headers)
      .then(async (discovery) => {
        if (discovery === undefined) return client.lost();
        const answer = method === 'ping' ? emptyResult(idText) : await this.#subscribe(session, message, discovery);
        client.response(answer);
      })
      .catch((error: unknown) => client.failed(error as Error, false));
    return true;
  }

  /** An answer to a question; whoever asked it may be at another replica. */
  async #answered(session: UpstreamSession, { idText }: { readonly idText: string }, text: string): Promise<void> {
    if (!isAskedId(idText)) return;
    await this.#deps.bus.append(busKey(session), {
      carrier: answerCarrier(idText),
      message: text,
      isAnswer: true,
    });
  }

  /** A notification that stands alone has been told to all replicas before it comes here. */
  #cancelledInBatch(
    { serverId, sessionId }: UpstreamSession,
    one: { readonly message: Message; readonly text: string },
  ): void {
    const alone = { bytes: Buffer.alloc(0), text: one.text, messages: [one.message], batch: false };
    const requestId = cancelledRequest(alone);
    if (requestId === undefined) return;
    // Best effort, as cancellation is.
    this.#deps.bus.publish({ type: 'cancelled', serverId, sessionId, requestId }).catch(() => undefined);
  }

  /** JSON text of the answer. */
  async #subscribe(
    { serverId, sessionId }: UpstreamSession,
    { method, idText, params }: Request,
    discovery: Discovery,
  ): Promise<string> {
    const { uri } = params;
    if (!takesSubscriptions(discovery)) return noSuchMethod(idText);
    if (typeof uri !== 'string') return invalidParams(idText, 'params.uri must be a string.');
    if (uri.length > MAX_URI_CHARS) {
      return invalidParams(idText, `params.uri has more than ${MAX_URI_CHARS} characters.`);
    }
    const isOn = method === 'resources/subscribe';
    await this.#deps.bus.publish({ type: 'subscribed', serverId, sessionId, uri, isOn });
    return emptyResult(idText);
  }

  async #isStillNewer(headers: readonly string[]): Promise<boolean> {
    this.#discoveries.forget(credentialKey(headers));
    return (await this.discover(headers)) !== undefined;
  }

  async #parameters(headers: readonly string[], tool: string, isRepeat: boolean): Promise<readonly ParameterHeader[]> {
    const { serverId, upstream, redact } = this.#deps;
    const base = credentialHeaders(headers);
    const request = { serverId, upstream, redact, inventory: this.#inventory, clientKey: credentialKey(headers), base };
    const { byTool } = await this.#listings.of({ ...request, inSession: undefined }, isRepeat);
    return byTool.get(tool) ?? [];
  }

  #onControl(message: ControlMessage): void {
    if (message.serverId !== this.#deps.serverId) return;
    if (message.type === 'cancelled') {
      for (const call of this.#calls.of(callKey(message.sessionId, message.requestId))) call.abort();
    } else if (message.type === 'subscribed') this.#streams.subscribed(message.sessionId, message.uri, message.isOn);
    else if (message.type === 'changes-untold') this.#unannounced.heard(message.changes);
  }
}

/** What is answered without the server; undefined: it is asked. */
function ownAnswer({ method, idText, params }: Request): string | undefined {
  if (OF_NEWER.test(method)) return noSuchMethod(idText);
  if (method !== 'logging/setLevel') return undefined;
  const { level } = params;
  if (typeof level === 'string' && LOG_LEVELS.has(level)) return emptyResult(idText);
  return invalidParams(idText, `params.level must be one of ${[...LOG_LEVELS].join(', ')}.`);
}

const emptyResult = (idText: string): string => `{"jsonrpc":"2.0","id":${idText},"result":{}}`;

const invalidParams = (idText: string, message: string): string => errorResponse(idText, { code: -32602, message });

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

const busKey = ({ serverId, sessionId, generation }: UpstreamSession): BusKey => ({ serverId, sessionId, generation });
const callKey = (sessionId: string, idText: string): string => `${sessionId}\n${idText}`;
