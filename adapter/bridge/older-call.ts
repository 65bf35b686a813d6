import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { AdapterError } from '../errors.ts';
import type { Holder } from '../byte-account.ts';
import { errorResult } from '../exchange/edited-call.ts';
import { progressToken, type Request } from '../exchange/message.ts';
import { locate, splice } from '../exchange/scanning/json-scan.ts';
import type { ParameterHeader } from '../exchange/sessionless-headers.ts';
import type { ResponseControl, Upstream } from '../exchange/upstream.ts';
import type { BusKey, MessageBus } from '../state/message-bus.ts';
import { askClient, lacking, questionsIn } from './ask-client.ts';
import type { ClientSide } from './client-side.ts';
import { bodyOf, type ClientIdentity, newerHeaders, newerRequest, type NewerParts } from './newer-request.ts';
import { olderResponse } from './older-result.ts';
import { Round, type RoundAnswer, RoundFailed } from './round.ts';

/** After so many rounds of questions a call is given up. */
const MAX_ROUNDS = 8;
const ROUNDS_MS = 600_000;
/** Between rounds in which the server asks nothing, but wants to be called again. */
const PACE_MS = 250;
const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_REVISION = -32022;

export interface OlderCallDeps {
  readonly upstream: Upstream;
  readonly bus: MessageBus;
  /** The `Mcp-Param-*` headers that a tool declares; `again` asks the server anew. */
  readonly parameters: (
    headers: readonly string[],
    tool: string,
    again: boolean,
  ) => Promise<readonly ParameterHeader[]>;
  /** The server speaks other revisions than it did. */
  readonly onOtherRevision: () => void;
  /** A call has come to its end, after so many rounds of questions. */
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
      if (this.#aborter.signal.aborted) return;
      if (error instanceof RoundFailed) this.#client.failed(error.cause as Error, error.sent);
      else this.#client.failed(error as Error, true);
    }
  }

  async #run(): Promise<void> {
    const { message, client, logLevel } = this.#request;
    const until = performance.now() + ROUNDS_MS;
    let parts: NewerParts = { client, logLevel };
    for (let rounds = 0; ; rounds++) {
      const answer = await this.#answer(parts);
      const { head, text, body } = answer;
      const code = text === undefined ? undefined : errorCode(text);
      if (text === undefined || head.status === 401 || head.status === 403) return this.#client.refused(head, body);
      if (code === UNSUPPORTED_REVISION) {
        // What looks for lost sessions opens another one, in the revision that the server speaks now.
        this.#deps.onOtherRevision();
        return this.#client.refused({ ...head, status: 404 }, Buffer.alloc(0));
      }
      if (code === MISSING_CAPABILITY) return this.#lacks(missingIn(text));
      if (!isInputRequired(text)) {
        this.#deps.onRounds(rounds);
        return this.#client.response(olderResponse(text, message.method));
      }
      if (rounds === MAX_ROUNDS || performance.now() > until) throw tooManyRounds(rounds);
      const next = await this.#ask(text, until);
      if (next === undefined) return;
      parts = { client, logLevel, ...next };
    }
  }

  /** One round; once more where the headers were those of an older list of tools. */
  async #answer(parts: NewerParts): Promise<RoundAnswer> {
    for (let isAgain = false; ; isAgain = true) {
      const answer = await this.#send(parts, isAgain);
      if (isAgain || answer.text === undefined || errorCode(answer.text) !== HEADER_MISMATCH) return answer;
    }
  }

  async #send(parts: NewerParts, again: boolean): Promise<RoundAnswer> {
    const { message, text, headers, holder } = this.#request;
    const tool = message.method === 'tools/call' ? message.params['name'] : undefined;
    const declared = typeof tool === 'string' ? await this.#deps.parameters(headers, tool, again) : [];
    this.#aborter.signal.throwIfAborted();
    const token = parts.progressToken;
    const own = token === undefined ? undefined : { token, client: progressToken(message) ?? token };
    const round = new Round(message.idText, holder, (other) => this.#client.message(withToken(other, own)));
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
  async #ask(text: string, until: number): Promise<Omit<NewerParts, 'client' | 'logLevel'> | undefined> {
    const { message, client, key } = this.#request;
    const { questions, requestState } = questionsIn(text);
    const progress = progressToken(message) === null ? undefined : JSON.stringify(`mcpa-${randomUUID()}`);
    if (questions.length === 0) {
      await delay(PACE_MS, undefined, { signal: this.#aborter.signal });
      return { requestState, progressToken: progress };
    }
    for (const question of questions) {
      const lacks = lacking(question, client.asks);
      if (lacks !== undefined) return this.#lacks(lacks);
    }
    const limit = AbortSignal.timeout(Math.max(1, Math.ceil(until - performance.now())));
    const signal = AbortSignal.any([this.#aborter.signal, limit]);
    const { bus } = this.#deps;
    const answers = await askClient({ bus, key, say: (asked) => this.#client.message(asked) }, questions, signal);
    if (answers.error === undefined) {
      return { requestState, inputResponses: answers.results, progressToken: progress };
    }
    this.#client.response(`{"jsonrpc":"2.0","id":${message.idText},"error":${answers.error}}`);
    return undefined;
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

function tooManyRounds(rounds: number): AdapterError {
  return new AdapterError('upstream_failed', `The upstream server still asked after ${rounds} rounds of questions.`);
}

function errorCode(text: string): number | undefined {
  const span = locate(text, ['error', 'code']);
  return span === undefined ? undefined : Number(text.slice(span.start, span.end));
}

function isInputRequired(text: string): boolean {
  const span = locate(text, ['result', 'resultType']);
  return span !== undefined && text.slice(span.start, span.end) === '"input_required"';
}

/** The names of the capabilities that the server misses (MCP 2026-07-28, -32021). */
function missingIn(text: string): string {
  const span = locate(text, ['error', 'data', 'requiredCapabilities']);
  const missing: unknown = span === undefined ? undefined : JSON.parse(text.slice(span.start, span.end));
  const names = typeof missing === 'object' && missing !== null ? Object.keys(missing) : [];
  return names.length === 0 ? 'a capability' : names.join(', ');
}

/** A notification (JSON text) with the token that the client knows. */
function withToken(text: string, own: { readonly token: string; readonly client: string } | undefined): string {
  if (own === undefined) return text;
  const span = locate(text, ['params', 'progressToken']);
  if (span === undefined || text.slice(span.start, span.end) !== own.token) return text;
  return splice(text, [{ ...span, with: own.client }]);
}
