import { randomUUID } from 'node:crypto';

import { AdapterError, answersOverloaded, ERRORS, rpcErrorText } from '../../errors.ts';
import type { Holder } from '../../byte-account.ts';
import { errorResult } from '../../exchange/edited-call.ts';
import { progressToken, type Request } from '../../exchange/message.ts';
import { locate } from '../../exchange/scanning/json-scan.ts';
import type { ParameterHeader } from '../../exchange/sessionless-headers.ts';
import type { ResponseControl, Upstream } from '../../exchange/upstream.ts';
import { UNCOUNTED_BYTES } from '../../limits.ts';
import type { BusKey, MessageBus } from '../../state/message-bus.ts';
import { type Answers, askClient } from './ask-client.ts';
import type { ClientSide } from '../wire/client-side.ts';
import { saysNothing } from '../../upstream/revision-probe.ts';
import { bodyOf, type ClientIdentity, newerHeaders, newerRequest, type NewerParts } from '../wire/newer-request.ts';
import { olderResponse } from './older-result.ts';
import { pause } from '../../../lib/pause.ts';
import { type Asked, lacking, missingIn, type Question, questionsIn } from './questions.ts';
import { errorCode, HEADER_MISMATCH, isSuspect, MISSING_CAPABILITY, UNSUPPORTED_REVISION } from './refusals.ts';
import { withClientToken } from '../wire/progress-tokens.ts';
import type { QuestionLimits } from '../wire/question-limits.ts';
import { withId } from '../wire/responses.ts';
import { Round, type RoundAnswer, RoundFailed } from '../wire/round.ts';

/** Between rounds in which the server asks nothing, but wants to be called again. */
const PACE_MS = 250;
const MAX_WHY_CHARS = 300;

export interface OlderCallDeps {
  readonly limits: QuestionLimits;
  readonly upstream: Upstream;
  readonly bus: MessageBus;
  /** The `Mcp-Param-*` headers that a tool declares; `again` asks the server anew. */
  readonly parameters: (
    headers: readonly string[],
    tool: string,
    isRepeat: boolean,
  ) => Promise<readonly ParameterHeader[]>;
  /** Asks the server anew whether it still speaks the newer revision; rejects when it does not say. */
  readonly isStillNewer: () => Promise<boolean>;
  /** A request has come to its end, after so many rounds of questions. */
  readonly onRounds: (rounds: number) => void;
}

/** A request of a client in a session. */
export interface OlderRequest {
  readonly message: Request;
  /** Its JSON text. */
  readonly text: string;
  /** As they would go to an upstream session. */
  readonly headers: readonly string[];
  readonly client: ClientIdentity;
  readonly logLevel: string | undefined;
  readonly key: BusKey;
  readonly holder: Holder | undefined;
}

/**
 * One request of a client of an older revision at a server of the newer one. The server's questions become requests on the
 * stream of the call, and their answers the next round.
 *
 *     request ─▶ round ──complete──▶ response
 *                 ▲  └─input_required─▶ ask the client ─┐
 *                 └──────────── answers ◀───────────────┘
 */
export class OlderCall implements ResponseControl {
  readonly #deps: OlderCallDeps;
  readonly #request: OlderRequest;
  readonly #client: ClientSide;
  readonly #aborter = new AbortController();
  #round: Round | undefined;
  #rounds = 0;
  #isPaused = false;

  constructor(deps: OlderCallDeps, request: OlderRequest, client: ClientSide) {
    this.#deps = deps;
    this.#request = request;
    this.#client = client;
  }

  pause(): void {
    this.#isPaused = true;
    this.#round?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#round?.resume();
  }

  abort(): void {
    const reason = new Error('the call was given up');
    this.#aborter.abort(reason);
    this.#round?.abort(reason);
  }

  /** Ends with a response, or a failure, at the client's side. */
  async run(): Promise<void> {
    try {
      await this.#run();
    } catch (error) {
      if (this.#aborter.signal.aborted) return this.#client.unanswered();
      if (error instanceof RoundFailed) this.#failed(error.cause as Error, error.sent);
      else this.#failed(error as Error, true);
    } finally {
      this.#deps.onRounds(this.#rounds);
    }
  }

  async #run(): Promise<void> {
    const { message, client, logLevel } = this.#request;
    const until = performance.now() + this.#deps.limits.ttlMs;
    let parts: NewerParts = { client, logLevel };
    for (;;) {
      const answer = await this.#answer(parts);
      const { head, text } = answer;
      if (saysNothing(head.status)) return this.#refused(answer);
      const code = text === undefined ? undefined : errorCode(text);
      if (isSuspect(head.status, code) && !(await this.#isStillNewer())) return this.#lost();
      if (text === undefined) return this.#refused(answer);
      if (code === MISSING_CAPABILITY) return this.#lacks(missingIn(text));
      if (code === HEADER_MISMATCH || code === UNSUPPORTED_REVISION) throw refusedByServer(text, code);
      const asked = questionsIn(text, message.method);
      if (asked === undefined) {
        return this.#client.response(olderResponse(withId(text, message.idText), message.method));
      }
      if (this.#rounds === this.#deps.limits.maxRounds || performance.now() > until) throw this.#tooLong();
      this.#rounds += 1;
      const next = await this.#ask(asked, until);
      if (next === undefined) return;
      parts = { client, logLevel, ...next };
    }
  }

  async #isStillNewer(): Promise<boolean> {
    const isNewer = await this.#deps.isStillNewer().catch(() => true);
    this.#aborter.signal.throwIfAborted();
    return isNewer;
  }

  #lost(): void {
    if (this.#client.isUnsaid) return this.#client.lost();
    this.#failed(new AdapterError('upstream_session_terminated'), true);
  }

  #refused({ head, body }: RoundAnswer): void {
    if (this.#client.isUnsaid) return this.#client.refused(head, body);
    this.#failed(new AdapterError('upstream_failed', `The upstream server answered with HTTP ${head.status}.`), true);
  }

  /** In a batch it says nothing of the other messages. */
  #failed(error: Error, sent: boolean): void {
    if (!this.#client.isBatch) return this.#client.failed(error, sent);
    const known = error instanceof AdapterError ? error : undefined;
    const code = known?.code ?? (sent ? 'upstream_failed' : 'upstream_unreachable');
    const detail = known?.message ?? ERRORS[code].detail;
    this.#client.response(rpcErrorText(code, detail, this.#request.message.idText, known?.data));
  }

  /** One round; once more where the headers were those of an older list of tools. */
  async #answer(parts: NewerParts): Promise<RoundAnswer> {
    for (let isAgain = false; ; isAgain = true) {
      const answer = await this.#send(parts, isAgain);
      if (isAgain || answer.text === undefined || errorCode(answer.text) !== HEADER_MISMATCH) return answer;
    }
  }

  async #send(parts: NewerParts, isRepeat: boolean): Promise<RoundAnswer> {
    const { message, text, headers, holder } = this.#request;
    const tool = message.method === 'tools/call' ? message.params['name'] : undefined;
    const declared = typeof tool === 'string' ? await this.#deps.parameters(headers, tool, isRepeat) : [];
    this.#aborter.signal.throwIfAborted();
    const own = parts.progressToken;
    const token = own === undefined ? undefined : { own, client: tokenIn(text) ?? own };
    // Servers of the newer revision send no requests.
    const round = new Round(message.idText, holder, (other, isRequest) => {
      if (!isRequest) this.#client.message(token === undefined ? other : withClientToken(other, token));
    });
    if (this.#isPaused) round.pause();
    this.#round = round;
    return round.ask(this.#deps.upstream, {
      method: 'POST',
      session: undefined,
      headers: newerHeaders(headers, message, declared),
      body: bodyOf(message, newerRequest(text, parts)),
    });
  }

  /** What the next round says; undefined: the call has its answer. */
  async #ask(
    { questions, requestState }: Asked,
    until: number,
  ): Promise<Omit<NewerParts, 'client' | 'logLevel'> | undefined> {
    const { message, client } = this.#request;
    const progress = progressToken(message) === null ? undefined : JSON.stringify(`mcpa-${randomUUID()}`);
    if (questions.length === 0) {
      await pause(PACE_MS, this.#aborter.signal);
      this.#aborter.signal.throwIfAborted();
      return { requestState, progressToken: progress };
    }
    for (const question of questions) {
      const lacks = lacking(question, client.asks);
      if (lacks !== undefined) return this.#lacks(lacks);
    }
    const answers = await this.#answers(questions, requestState, until);
    if (answers.error === undefined) {
      return { requestState, inputResponses: answers.results, progressToken: progress };
    }
    this.#client.response(`{"jsonrpc":"2.0","id":${message.idText},"error":${answers.error}}`);
    return undefined;
  }

  /** A user may take his time, so what is kept meanwhile counts. */
  async #answers(questions: readonly Question[], requestState: string | undefined, until: number): Promise<Answers> {
    const { key, holder } = this.#request;
    const kept = questions.reduce((chars, { params }) => chars + params.length, requestState?.length ?? 0);
    const share = kept > UNCOUNTED_BYTES ? holder?.share('answers') : undefined;
    if (share?.set(kept) === false) throw answersOverloaded();
    const limit = AbortSignal.timeout(Math.max(1, Math.ceil(until - performance.now())));
    const signal = AbortSignal.any([this.#aborter.signal, limit]);
    const send = (asked: string): void => this.#client.message(asked);
    try {
      return await askClient({ bus: this.#deps.bus, key, send }, questions, signal);
    } catch (error) {
      if (limit.aborted && !this.#aborter.signal.aborted) throw this.#tooLong();
      throw error;
    } finally {
      share?.giveBack();
    }
  }

  #tooLong(): AdapterError {
    const { ttlMs } = this.#deps.limits;
    const detail = `The call was not over after ${this.#rounds} rounds of questions, or ${ttlMs / 1000} seconds.`;
    return new AdapterError('upstream_failed', detail);
  }

  /** The server needs what the client does not offer. A model can read that in the result of a tool. */
  #lacks(what: string): undefined {
    const { method, idText } = this.#request.message;
    const why = `This needs ${what}, which this client does not offer.`;
    const data = { code: 'needs_client_capability', capability: what };
    const answer =
      method === 'tools/call'
        ? `"result":${errorResult(why)}`
        : `"error":${JSON.stringify({ code: -32603, message: why, data })}`;
    this.#client.response(`{"jsonrpc":"2.0","id":${idText},${answer}}`);
  }
}

/** It refuses what older clients know nothing of. */
function refusedByServer(text: string, code: number): AdapterError {
  const span = locate(text, ['error', 'message']);
  const why = span === undefined ? '' : text.slice(span.start, span.end).slice(0, MAX_WHY_CHARS);
  return new AdapterError('upstream_failed', `The upstream server refused the request (${code}): ${why}`);
}

/** The progress token (JSON text) of a request (JSON text), as the client wrote it. */
function tokenIn(text: string): string | undefined {
  const span = locate(text, ['params', '_meta', 'progressToken']);
  return span && text.slice(span.start, span.end);
}
