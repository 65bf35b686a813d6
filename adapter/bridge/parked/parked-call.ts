import { AdapterError } from '../../errors.ts';
import { wholeText } from '../../exchange/answers/answer.ts';
import type { Request } from '../../exchange/message.ts';
import type { ResponseHead } from '../../exchange/upstream.ts';
import { MAX_ANSWER_BYTES } from '../../limits.ts';
import { type Ending, failed } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import { ParkedTime } from '../../path/parked-time.ts';
import type { Reply, ReplyControl } from '../../path/reply.ts';
import { ReplyMessage } from '../../path/reply-message.ts';
import type { MessageBus } from '../../state/message-bus.ts';
import type { QuestionLimits } from '../wire/question-limits.ts';
import type { ParkedState } from './parked-state.ts';
import { type Asked, AskedQuestions, questionIn, urlQuestions } from './asked-questions.ts';
import { inputRequired, needsPages, pageRequests } from './input-required.ts';
import { after, type ParkedEntry, parkedKey, type ParkedOrder } from './parked-entry.ts';
import { ParkedPlace, type ParkedPlaceDeps } from './parked-place.ts';
import { ReaderControl } from './reader-control.ts';

export interface ParkedCallDeps extends ParkedPlaceDeps {
  readonly limits: QuestionLimits;
  readonly bus: MessageBus;
  /** Brings an answer (JSON text of a response) to the upstream. */
  readonly answer: (exchange: string, text: string) => Promise<void>;
  /** Seals what is known of a round of questions. */
  readonly seal: (round: Pick<ParkedState, 'round' | 'ids' | 'isEnded'>) => Promise<string>;
  /** What stands for an ending without a response (JSON text of one). */
  readonly errorText: (ending: Ending) => string;
  /** How often the call has asked before it was made anew. */
  readonly rounds: number;
  /** The client can show its user a page. */
  readonly asksUrls: boolean;
  /** Another replica has begun the call, and this one has taken it over. */
  readonly isTakenOver: boolean;
  /** Leaves the exchange to whoever has taken it over. */
  readonly abandon: (exchange: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Older servers ask one thing after the other, where the newer revision asks for all at once. */
const MORE_MS = 25;

/**
 * The reply to a call of a client without sessions at an older server, which asks in the middle of it. Then the client has its
 * answer, `input_required`, and the call is parked here; whoever brings the answers, at any replica, hears the rest.
 *
 *     direct ──question──▶ parked ◀──── answers ────┐
 *        └──response──▶ the client     └─question, response─▶ who waits
 */
export class ParkedCall implements Reply {
  readonly reads = true;
  readonly #deps: ParkedCallDeps;
  readonly #operation: Operation;
  readonly #request: Request;
  readonly #exchange: string;
  readonly #outer: Reply;
  #aborter: AbortController | undefined;
  readonly #afterwards: (() => void)[] = [];
  #control: ReplyControl | undefined;
  #head: ResponseHead | undefined;
  #hasHead = false;
  /** Of those that were asked here; 0 until something was. */
  #round = 0;
  readonly #asked = new AskedQuestions();
  /** JSON text of the result that asked last. */
  #asks = '';
  #more: NodeJS.Timeout | undefined;
  #isOver = false;
  #hasAnswer = false;
  /** Of the client whose call it was before it was parked. */
  #reader: ReaderControl | undefined;
  #expiry: NodeJS.Timeout | undefined;
  readonly #place: ParkedPlace;

  constructor(deps: ParkedCallDeps, operation: Operation, exchange: string, outer: Reply) {
    this.#deps = deps;
    this.#operation = operation;
    this.#request = operation.request as Request;
    this.#exchange = exchange;
    this.#outer = outer;
    this.#place = new ParkedPlace(deps, exchange, () => {
      deps.abandon(exchange);
      this.#giveUp(new AdapterError('upstream_failed', 'Another replica has taken the call over.'));
    });
    if (deps.isTakenOver) this.#place.own().catch((error: unknown) => this.#giveUp(error));
  }

  get #isParked(): boolean {
    return this.#round > 0;
  }

  /** There is nothing left that answers of the client could change. */
  get #isDone(): boolean {
    return this.#isOver || this.#hasAnswer;
  }

  get signal(): AbortSignal {
    if (this.#aborter !== undefined) return this.#aborter.signal;
    const aborter = new AbortController();
    this.#aborter = aborter;
    if (!this.#isParked) {
      const { signal } = this.#outer;
      const onAbort = (): void => {
        if (!this.#isParked) aborter.abort(signal.reason);
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    }
    return aborter.signal;
  }

  get isGone(): boolean {
    return this.#isParked ? this.#aborter?.signal.aborted === true : this.#outer.isGone;
  }

  afterwards(run: () => void): void {
    if (this.#isOver && this.#isParked) run();
    else if (this.#isOver) this.#outer.afterwards(run);
    else this.#afterwards.push(run);
  }

  start(control: ReplyControl): void {
    this.#control = control;
    if (this.#isParked) return;
    this.#reader = new ReaderControl(control);
    this.#outer.start(this.#reader);
  }

  head(head: ResponseHead): void {
    this.#head = head;
  }

  message(message: ReplyMessage): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (message.kind === 'other') {
      if (message.body === '') return undefined;
      const text = message.text();
      const asked = questionIn(text);
      if (asked !== undefined) {
        this.#ask(asked);
        return undefined;
      }
      if (this.#isParked) return this.#publish({ type: 'message', text });
    }
    if (this.#isParked) {
      return message.kind === 'response' ? this.#respond(message) : undefined;
    }
    if (message.kind !== 'response') return this.#pass(message);
    this.#hasAnswer = true;
    if (message.isOpen || message.streamed !== undefined) return this.#pass(message);
    const urls = urlQuestions(message.text());
    return urls === undefined ? this.#pass(message) : this.#askUrls(urls);
  }

  #pass(message: ReplyMessage): Promise<void> | undefined {
    if (message.kind === 'response') clearTimeout(this.#more);
    this.#passHead();
    return this.#outer.message(message);
  }

  data(chunk: Buffer, isLast: boolean): Promise<void> | undefined {
    return this.#isParked ? undefined : this.#outer.data(chunk, isLast);
  }

  end(ending: Ending): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    this.#isOver = true;
    clearTimeout(this.#more);
    if (!this.#isParked) {
      for (const run of this.#afterwards) this.#outer.afterwards(run);
      this.#free().catch(this.#deps.onError);
      if (ending.error === undefined && ending.text === undefined) this.#passHead();
      return this.#outer.end(ending);
    }
    return this.#endParked(ending);
  }

  // ── questions ──────────────────────────────────────────────────────────────────────────────────────────────────

  #ask(asked: Asked): void {
    if (!this.#asked.add(asked)) {
      this.#giveUp(new AdapterError('upstream_failed', 'The upstream server asks too much at once.'));
      return;
    }
    this.#more ??= setTimeout(() => {
      this.#more = undefined;
      this.#park()
        .catch((error: unknown) => {
          if (!this.#hasAnswer) this.#giveUp(error);
        })
        // The client may have left meanwhile: what was taken since then is nobody's.
        .then(() => (this.#isOver && !this.#isParked ? this.#free() : undefined))
        .catch(this.#deps.onError);
    }, MORE_MS);
  }

  async #park(): Promise<void> {
    if (this.#isDone) return;
    const { bus, serverId, seal, rounds, limits } = this.#deps;
    const round = this.#round + 1;
    if (rounds + round > limits.maxRounds) throw tooManyRounds(limits);
    const isFirst = round === 1;
    if (isFirst) {
      await this.#place.take((order) => this.#ordered(order));
      if (this.#isDone) return;
    }
    await bus.expect(parkedKey(serverId, this.#exchange), after(rounds + round));
    const { ids, requests } = this.#asked;
    const state = await seal({ round: rounds + round, ids, isEnded: false });
    const result = inputRequired(requests, state);
    if (this.#isDone) return;
    this.#asks = result;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => {
      this.#giveUp(new AdapterError('upstream_timeout', 'Nobody answered the questions of the server in time.'));
    }, limits.ttlMs).unref();
    this.#operation.parked ??= new ParkedTime();
    this.#operation.parked.begin();
    const waits = after(rounds + this.#round);
    // Answers of the round before are answers to less than is asked now.
    this.#round = round;
    if (!isFirst) return this.#publish({ type: 'asks', result }, waits);
    const outer = this.#outer;
    const isGone = outer.isGone;
    this.#reader?.leave();
    if (isGone) return this.#giveUp(new AdapterError('cancelled'));
    if (!this.#hasHead) outer.head(OWN_HEAD);
    await outer.message(ReplyMessage.result(this.#request.idText, result));
    await outer.end({ outcome: 'ok' });
  }

  /** The call has ended with the demand that pages are opened first (MCP 2025-11-25, -32042): then it is made anew. */
  async #askUrls(urls: readonly string[]): Promise<void> {
    clearTimeout(this.#more);
    const result = await this.#urlResult(urls);
    if (result !== undefined) {
      if (!this.#hasHead) this.#outer.head(OWN_HEAD);
      return this.#outer.message(ReplyMessage.result(this.#request.idText, result));
    }
    this.#outer.head({ ...OWN_HEAD, status: 400 });
    return this.#outer.message(new ReplyMessage('response', needsPages(this.#request.idText)));
  }

  /** Undefined: the client cannot show pages. */
  async #urlResult(urls: readonly string[]): Promise<string | undefined> {
    const { rounds, seal, asksUrls, limits } = this.#deps;
    if (!asksUrls) return undefined;
    const round = rounds + this.#round + 1;
    if (round > limits.maxRounds) throw tooManyRounds(limits);
    const { ids, requests } = pageRequests(urls);
    return inputRequired(requests, await seal({ round, ids, isEnded: true }));
  }

  #ordered(order: ParkedOrder): void {
    if (order.type === 'cancel') return this.#giveUp(new AdapterError('cancelled'));
    if (order.round !== this.#deps.rounds + this.#round || this.#operation.parked?.isOn !== true) return;
    if (order.type === 'repeat') {
      this.#publish({ type: 'asks', result: this.#asks }, order.carrier).catch((error: unknown) => this.#giveUp(error));
      return;
    }
    clearTimeout(this.#expiry);
    this.#operation.parked.end();
    for (const text of this.#asked.answer(order.results)) {
      this.#deps.answer(this.#exchange, text).catch((error: unknown) => this.#giveUp(error));
    }
  }

  // ── what whoever waits hears ───────────────────────────────────────────────────────────────────────────────────

  async #publish(entry: ParkedEntry, carrier = after(this.#deps.rounds + this.#round)): Promise<void> {
    const { bus, serverId } = this.#deps;
    const message = JSON.stringify(entry);
    const isAnswer = entry.type !== 'message';
    const instead = isAnswer ? JSON.stringify({ type: 'response', text: this.#deps.errorText(TOO_LARGE) }) : undefined;
    await bus.append(parkedKey(serverId, this.#exchange), {
      carrier,
      message,
      isAnswer,
      ...(instead !== undefined && { instead }),
    });
  }

  async #respond(message: ReplyMessage): Promise<void> {
    const { streamed } = message;
    const text = streamed === undefined ? message.text() : await wholeText(streamed, MAX_ANSWER_BYTES);
    if (text === undefined) throw new AdapterError('upstream_failed', 'The answer is too large.');
    this.#hasAnswer = true;
    const urls = streamed === undefined ? urlQuestions(text) : undefined;
    if (urls !== undefined) {
      const result = await this.#urlResult(urls);
      return this.#publish(
        result === undefined ? { type: 'response', text: needsPages(this.#request.idText) } : { type: 'asks', result },
      );
    }
    await this.#publish({ type: 'response', text });
  }

  async #endParked(ending: Ending): Promise<void> {
    try {
      if (!this.#hasAnswer) {
        await this.#publish({ type: 'response', text: ending.text ?? this.#deps.errorText(ending) });
      }
      await this.#free();
    } catch (error) {
      // What was taken expires by itself.
      this.#deps.onError(error);
    }
    for (const run of this.#afterwards) run();
  }

  async #free(): Promise<void> {
    clearTimeout(this.#expiry);
    await this.#place.free();
  }

  #giveUp(error: unknown): void {
    this.#aborter ??= new AbortController();
    this.#aborter.abort(error);
    if (this.#control === undefined) void this.end(failed(error));
    else this.#control.abort(failed(error));
  }

  #passHead(): void {
    if (this.#hasHead || this.#head === undefined) return;
    this.#hasHead = true;
    this.#outer.head(this.#head);
  }
}

const OWN_HEAD: ResponseHead = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  upstreamSessionId: null,
};
const TOO_LARGE: Ending = failed(
  new AdapterError('upstream_failed', 'The answer was too large to be kept until the answers were brought again.'),
);

function tooManyRounds({ maxRounds }: QuestionLimits): AdapterError {
  return new AdapterError('upstream_failed', `The upstream server still asked after ${maxRounds} rounds of questions.`);
}
