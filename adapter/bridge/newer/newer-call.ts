import { setTimeout as delay } from 'node:timers/promises';

import { REQUEST_LIMITS } from '../../../lib/json/json-limits.ts';
import type { Holder } from '../../byte-account.ts';
import { METHOD_NOT_FOUND, parseBody, progressToken, type Request } from '../../exchange/message.ts';
import { locate, splice } from '../../exchange/scanning/json-scan.ts';
import type { ExchangePosition, ResponseControl, ResumedExchange, Upstream } from '../../exchange/upstream.ts';
import { losesSession } from '../../exchange/unknown-session.ts';
import { HandshakeFailed } from '../../upstream/handshake.ts';
import { lacking } from '../older/questions.ts';
import { MISSING_CAPABILITY } from '../older/refusals.ts';
import { type CallSession, postMessage } from './call-session.ts';
import { streamHeaders } from './event-stream.ts';
import type { ClientSide } from '../wire/client-side.ts';
import { type Asks, bodyOf } from '../wire/newer-request.ts';
import { newerResponse } from './newer-result.ts';
import { olderRequest, type OwnNames } from './older-request.ts';
import { OwnAnswers } from './own-answers.ts';
import type { Hearing } from './session-hearing.ts';
import { errorResponse } from '../wire/responses.ts';
import { Round, type RoundAnswer, RoundFailed } from '../wire/round.ts';

const INVALID_PARAMS = -32602;
/** How often a stream that breaks off is taken up again before anything more comes. */
const MAX_RESUMED = 20;
/** More are one value of a label. */
const MAX_COUNTED = 8;
const RESUME_MS = 500;
const LONGEST_RESUME_MS = 30_000;

export interface NewerCallDeps {
  /** Of the older revisions. */
  readonly upstream: Upstream;
  /**
   * @param signal nobody waits for it any more
   * @param lost one that the server does not know any more, and that was left
   */
  readonly open: (signal: AbortSignal, lost?: CallSession) => Promise<CallSession>;
  /** Hears what the server says in a session beside its calls; undefined: that belongs to nobody. */
  readonly hear: ((session: CallSession, onMessage: (text: string) => void) => Hearing) | undefined;
  /** The call has come to its end, after so many questions of the server. */
  readonly onRounds: (rounds: number) => void;
}

/** A request of a client without sessions. */
export interface NewerRequest {
  readonly message: Request;
  /** Its JSON text. */
  readonly text: string;
  /** What can be asked of the client. */
  readonly asks: Asks;
  /** It wants to hear log messages. */
  readonly logs: boolean;
  /** How the server knows it, where it begins here. */
  readonly name: string;
  /** Somebody takes what the server asks, and answers it; otherwise the server is told that nobody does. */
  readonly takesQuestions: boolean;
  readonly holder: Holder | undefined;
  /** Undefined: the call begins here. */
  readonly resumed: ResumedExchange | undefined;
}

/**
 * One request of a client without sessions at a server that has them: a session is opened for it with what the client says of
 * itself. What the server asks meanwhile goes to the client's side as it is; `answer` brings the answers.
 */
export class NewerCall implements ResponseControl {
  readonly #deps: NewerCallDeps;
  readonly #request: NewerRequest;
  readonly #client: ClientSide;
  readonly #answers: OwnAnswers;
  /** Why it was given up. */
  #reason: Error | undefined;
  readonly #aborter = new AbortController();
  readonly #names: OwnNames;
  #session: CallSession | undefined;
  #hearing: Hearing | undefined;
  #round: Round | undefined;
  #isPaused = false;
  #isAnswered = false;
  #isAbandoned = false;
  #rounds = 0;
  /** Ids of the questions (JSON text) that the client has, and has not answered. */
  readonly #open = new Set<string>();

  constructor(deps: NewerCallDeps, request: NewerRequest, client: ClientSide) {
    this.#deps = deps;
    this.#request = request;
    this.#client = client;
    this.#answers = new OwnAnswers(deps.upstream);
    const name = `"${request.name}"`;
    this.#names = request.resumed?.position ?? { idText: name, progressToken: name };
  }

  pause(): void {
    this.#isPaused = true;
    this.#round?.pause();
    this.#hearing?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#round?.resume();
    this.#hearing?.resume();
  }

  abort(): void {
    this.#reason = new Error('the call was given up');
    this.#aborter.abort(this.#reason);
    this.#round?.abort(this.#reason);
    this.#hearing?.stop();
  }

  /** Another replica goes on with it: nothing more is done at the upstream. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** The client's answer (JSON text of a response) to a question of the server. Rejects when the server does not take it. */
  async answer(text: string): Promise<void> {
    const session = this.#session;
    if (session === undefined) throw new Error('no session was opened');
    const id = locate(text, ['id']);
    if (id !== undefined) this.#open.delete(text.slice(id.start, id.end));
    await postMessage(this.#deps.upstream, session, { kind: 'response', idText: '', params: {} }, text);
  }

  /** Where the call stands; undefined while it has no session. */
  get position(): ExchangePosition | undefined {
    const { session, protocolVersion } = this.#session ?? {};
    if (session === undefined || protocolVersion === undefined) return undefined;
    const { sessionId, generation } = session;
    return {
      sessionId,
      generation,
      upstreamSessionId: session.upstreamSessionId ?? null,
      protocolVersion,
      ...this.#names,
      lastEventId: this.#round?.lastEventId,
    };
  }

  /** Ends with a response, or a failure, at the client's side. */
  async run(): Promise<void> {
    try {
      const { signal } = this.#aborter;
      let session = await this.#deps.open(signal);
      for (let attempt = 0; ; attempt++) {
        this.#session = session;
        this.#isAnswered = false;
        let isLost = false;
        try {
          // oxlint-disable-next-line no-await-in-loop -- Once more at most.
          isLost = await this.#run(session, attempt === 0);
        } finally {
          this.#hearing?.stop();
          // The client need not wait for a server that does not listen.
          void this.#end(session);
        }
        if (!isLost) return;
        // oxlint-disable-next-line no-await-in-loop -- See above.
        session = await this.#deps.open(signal, session);
      }
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  #failed(error: Error): void {
    if (this.#reason !== undefined) return;
    if (error instanceof RoundFailed) this.#client.failed(error.cause as Error, error.sent);
    else if (error instanceof HandshakeFailed && (error.status === 401 || error.status === 403)) {
      const head = { status: error.status, headers: { 'content-type': 'application/json' }, upstreamSessionId: null };
      this.#client.refused(head, Buffer.from(error.body));
    } else this.#client.failed(error, error instanceof HandshakeFailed);
  }

  /** True: the server has lost the session, and has not seen the call. */
  async #run(session: CallSession, mayBeLost: boolean): Promise<boolean> {
    this.#throwIfGivenUp();
    if (this.#deps.hear !== undefined) {
      this.#hearing = this.#deps.hear(session, (text) => this.#other(text));
      if (this.#isPaused) this.#hearing.pause();
      await this.#hearing.ready;
      this.#throwIfGivenUp();
    }
    const { message } = this.#request;
    const { head, text, body } = await this.#answer(session);
    this.#isAnswered = true;
    if (mayBeLost && head.status >= 400 && losesSession(head.status, body.toString('utf8'))) return true;
    if (text === undefined || head.status === 401 || head.status === 403) {
      // There is no session for the client to lose.
      this.#client.refused(head.status === 404 ? { ...head, status: 502 } : head, body);
      return false;
    }
    this.#deps.onRounds(Math.min(this.#rounds, MAX_COUNTED));
    const shown = newerResponse(text, message, session.greeting.serverInfo);
    this.#client.response(shown.text, shown.status);
    return false;
  }

  #throwIfGivenUp(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** The server's answer, also where its stream has to be taken up again for it (MCP 2025-11-25, resumability). */
  async #answer(own: CallSession): Promise<RoundAnswer> {
    const { session, headers } = own;
    const { message, text, resumed: begun } = this.#request;
    const { upstream } = this.#deps;
    const { lastEventId: from } = begun?.position ?? {};
    const resume = (lastEventId: string, retryMs: number | undefined): Promise<RoundAnswer> => {
      round = this.#newRound();
      round.lastEventId = lastEventId;
      round.retryMs = retryMs;
      const request = {
        method: 'GET',
        session,
        headers: streamHeaders(headers),
        body: undefined,
        lastEventId,
      } as const;
      return round.ask(upstream, request);
    };
    let round = this.#newRound();
    let sent: Promise<RoundAnswer>;
    if (from === undefined) {
      const body = bodyOf(this.#named(message), olderRequest(text, this.#names));
      sent = round.ask(upstream, { method: 'POST', session, headers, body });
    } else {
      for (const answer of begun?.answers ?? []) this.#post(answer);
      sent = resume(from, undefined);
    }
    for (let resumed = 0; ; resumed++) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- One stream comes after the other.
        const answer = await sent;
        if (answer.text === undefined && answer.head.status >= 400 && (resumed > 0 || from !== undefined)) {
          throw new Error(`the stream of the call could not be taken up again: HTTP ${answer.head.status}`);
        }
        return answer;
      } catch (error) {
        const { lastEventId, retryMs = RESUME_MS } = round;
        if (lastEventId === undefined || this.#reason !== undefined || resumed === MAX_RESUMED) throw error;
        // oxlint-disable-next-line no-await-in-loop -- See above.
        await delay(Math.min(retryMs, LONGEST_RESUME_MS), undefined, { signal: this.#aborter.signal });
        sent = resume(lastEventId, retryMs);
      }
    }
  }

  /** The request as the upstream knows it: some transports go by ids and tokens. */
  #named(message: Request): Request {
    const { idText, progressToken: own } = this.#names;
    const token = progressToken(message) === null ? {} : { progressToken: JSON.parse(own) as string };
    return { ...message, idText, params: { ...message.params, _meta: token } };
  }

  #newRound(): Round {
    const { holder } = this.#request;
    const round = new Round(this.#names.idText, holder, (other) => this.#other(other));
    if (this.#isPaused) round.pause();
    this.#round = round;
    return round;
  }

  /** What the server says before its answer. */
  #other(text: string): void {
    const body = parseBody(Buffer.from(text), REQUEST_LIMITS);
    if ('code' in body || body.batch) return;
    const [message] = body.messages;
    if (message?.kind === 'request') this.#asked(message, text);
    else if (message?.kind === 'notification' && isForCall(message.method, this.#request.logs)) {
      const own = message.method === 'notifications/progress' ? this.#withToken(text) : text;
      if (own !== undefined) this.#client.message(own);
    }
  }

  /** Progress with the token that the client knows; undefined: it is of another call in the session. */
  #withToken(text: string): string | undefined {
    const own = progressToken(this.#request.message);
    const span = locate(text, ['params', 'progressToken']);
    if (span === undefined || own === null || text.slice(span.start, span.end) !== this.#names.progressToken) {
      return undefined;
    }
    return splice(text, [{ ...span, with: own }]);
  }

  #asked({ method, idText, params }: Request, text: string): void {
    const session = this.#session;
    if (session === undefined) return;
    if (method === 'ping') return this.#answers.pong(session, idText);
    const { takesQuestions, asks, message } = this.#request;
    const refuse = (code: number, why: string): void =>
      this.#answers.post(session, errorResponse(idText, { code, message: why }));
    if (!takesQuestions) return refuse(METHOD_NOT_FOUND, `Nobody answers ${method} here.`);
    const lacks = lacking({ method, params: JSON.stringify(params) }, asks);
    if (lacks === undefined) {
      this.#rounds += 1;
      this.#open.add(idText);
      return this.#client.message(text);
    }
    const isMode = method === 'elicitation/create' && (asks.elicitation || asks.elicitationUrl);
    refuse(isMode ? INVALID_PARAMS : METHOD_NOT_FOUND, `The client does not offer ${lacks}.`);
    const requiredCapabilities = required(lacks);
    if (requiredCapabilities === undefined) return;
    const error = { code: MISSING_CAPABILITY, message: `This needs ${lacks}.`, data: { requiredCapabilities } };
    this.#client.response(errorResponse(message.idText, error), 400);
    this.abort();
  }

  #post(text: string): void {
    this.answer(text).catch(() => undefined);
  }

  /** Never rejects. A call that is given up is cancelled first, and its questions are answered, where the session may serve others. */
  async #end(session: CallSession): Promise<void> {
    if (this.#isAbandoned) return;
    const error = { code: METHOD_NOT_FOUND, message: 'The call has ended.' };
    for (const idText of this.#open) this.#post(errorResponse(idText, error));
    if (!this.#isAnswered) {
      const { idText } = this.#names;
      const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText}}}`;
      const kind = { kind: 'notification', method: 'notifications/cancelled', params: {} } as const;
      await postMessage(this.#deps.upstream, session, kind, text).catch(() => undefined);
    }
    session.leave();
  }
}

/** That something has changed is said on streams that were asked for it (MCP 2026-07-28, subscriptions). */
function isForCall(method: string, logs: boolean): boolean {
  if (method === 'notifications/message') return logs;
  return (
    !method.endsWith('/list_changed') &&
    method !== 'notifications/resources/updated' &&
    method !== 'notifications/elicitation/complete' &&
    method !== 'notifications/cancelled'
  );
}

/** As `-32021` names it; undefined for what no client can offer. */
function required(lacks: string): Record<string, unknown> | undefined {
  if (lacks === 'elicitation.url') return { elicitation: { url: {} } };
  return lacks === 'elicitation' || lacks === 'sampling' || lacks === 'roots' ? { [lacks]: {} } : undefined;
}
