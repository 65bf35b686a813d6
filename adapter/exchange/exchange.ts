import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

import { KeptParts } from '../../lib/stream/kept-parts.ts';
import { ANSWER_LIMITS, JsonLimitError } from '../../lib/json/json-limits.ts';
import { AdapterError, answersOverloaded, type ErrorCode, rpcErrorText } from '../errors.ts';
import type { ResponseControl, ResponseHead, ResponseSink, UpstreamRequest } from '../upstream/upstream.ts';
import type { ByteShare } from '../byte-account.ts';
import { AnswerWatch, noteBytes } from './answer-watch.ts';
import type { Answer, StreamedAnswer } from './answer.ts';
import { AwaitedResponses } from './awaited-responses.ts';
import { sendEndedStream } from './ended-stream.ts';
import { endWhole } from './end-whole.ts';
import { EnvelopeScan } from './envelope-scan.ts';
import { foreignError, isForeign, refusedError } from './foreign-answer.ts';
import { FrameAnswer, type FrameReply } from './frame-answer.ts';
import { responseHeaders } from './headers.ts';
import type { QuietStream } from './keep-alive.ts';
import { jsonVerdict } from './json-verdict.ts';
import { AFTER_LIMIT_MS, type Outcome, type Plan } from './plan.ts';
import { type Flow, ReplyStream } from './reply-stream.ts';
import type { Running } from './running.ts';
import type { Refusal } from './refusal.ts';
import { renameReserved, withoutReserved } from './reserved-meta.ts';
import { type Part, sendParts } from './stream-answer.ts';
import { whileLeaving } from './unread.ts';
import { isUnknownSession } from './unknown-session.ts';
import { MAX_ANSWER_BYTES, WHOLE_ANSWER_BYTES, INSPECTED_BYTES, UNCOUNTED_BYTES } from '../limits.ts';

export type { Outcome, Plan } from './plan.ts';

type State = 'waiting' | 'collect' | 'inspect' | 'pass' | 'frames' | 'done';

/**
 * One HTTP exchange with the client, carried by one HTTP exchange with the upstream. Bytes pass as they are once it is
 * known that they are a message which may pass; a body is read only where the plan asks for it.
 *
 *     waiting ──head──▶ frames    event streams
 *        │        ├───▶ collect   small answers, answers that somebody wants to see  ──▶ pass, where they are large
 *        │        └───▶ inspect   a 400 that may mean "session terminated"  ──▶ waiting (sent again) or collect
 *        └──────────────▶ done    from every state: end, error, time out, client gone
 *
 * In `collect` and `frames`, what the client gets may itself come in parts, while the upstream's data waits.
 */
export class Exchange implements ResponseSink, QuietStream, Running, Flow, FrameReply {
  slot = -1;
  readonly #plan: Plan;
  readonly #res: ServerResponse;
  #state: State = 'waiting';
  #control: ResponseControl | undefined;
  #head: ResponseHead | undefined;
  #eventStream = false;
  readonly #parts = new KeptParts();
  #timer: NodeJS.Timeout | undefined;
  #isAfterLimit = false;
  /** Reasons to hold the upstream's data back: a slow client, asynchronous work. */
  #holds = 0;
  #work: Promise<void> | undefined;
  readonly #awaited: AwaitedResponses;
  /** Undefined while nothing of the body has left. */
  #stream: ReplyStream | undefined;
  #frames: FrameAnswer | undefined;
  /** Messages of our own that wait for the head. */
  #notices: string[] | undefined;
  /** A part of an answer has left; nothing but its rest can follow. */
  #inParts = false;
  /** Of what passes chunk by chunk. */
  #scan: EnvelopeScan | undefined;
  #watch: AnswerWatch | undefined;
  /** A large answer that has to be read before it passes, though nobody asked for it. */
  #isReadWhole = false;
  /** Undefined while little is kept of the answer. */
  #kept: ByteShare | undefined;
  /** When the upstream was asked; 0 where nobody wants to know. */
  #askedAt = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#res = plan.reply;
    this.#awaited = new AwaitedResponses(plan.idTexts, this.isGet);
    this.#res.on('close', () => this.#onClose());
  }

  get id(): string {
    return this.#plan.id;
  }

  get serverId(): string {
    return this.#plan.serverId;
  }

  get sessionId(): string | undefined {
    return this.#plan.sessionId;
  }

  get idTexts(): readonly string[] {
    return this.#plan.idTexts;
  }

  get isGet(): boolean {
    return this.#plan.request.method === 'GET';
  }

  start(): void {
    this.#plan.running.add(this);
    // It went while the request was looked at, and will not be heard of again.
    if (this.#res.destroyed) return this.#onClose();
    const { timeoutMs } = this.#plan;
    if (timeoutMs !== null) this.#timer = setTimeout(() => this.#onTimeout(), timeoutMs);
    this.#send(this.#plan.request);
  }

  #send(request: UpstreamRequest): void {
    if (this.#plan.noted !== undefined) this.#askedAt = performance.now();
    this.#plan.upstream.send(request, this);
  }

  /** Ends the exchange from outside: the session ended, its requests were cancelled, the process stops. */
  finish(code: ErrorCode): void {
    if (this.#state === 'done') return;
    this.#control?.abort();
    this.#answerError(new AdapterError(code), code);
  }

  /** The client waits for this response no longer. When it waits for no other either, the exchange ends after `graceMs`. */
  cancel(idText: string, graceMs: number): void {
    this.#awaited.cancel(idText);
    const end = (): void => {
      if (!this.#awaited.isWaitedFor) this.finish('cancelled');
    };
    setTimeout(end, graceMs).unref();
  }

  /** Ends a stream that the client can open again, without an error; a request that stays unanswered gets one. */
  endStream(): void {
    if (this.#state === 'done') return;
    this.#control?.abort();
    if (this.#mayJustEnd()) void this.#done('ok');
    else if (this.isGet && !this.#res.headersSent) this.#endBeforeHead();
    else this.#answerError(new AdapterError('draining'), 'draining');
  }

  /** Puts a message of our own into an event stream. False: there is none, or it has ended. */
  notify(text: string): boolean {
    if (this.#state === 'done' || (this.#head !== undefined && !this.#eventStream)) return false;
    if (this.#stream !== undefined) this.#stream.notify(text);
    else if (!(this.#notices ??= []).includes(text)) this.#notices.push(text);
    return true;
  }

  // ── ResponseSink ───────────────────────────────────────────────────────────────────────────────────────────────

  onStart(control: ResponseControl): void {
    this.#control = control;
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    if (this.#plan.again !== undefined) {
      if (head.status === 404 || head.status === 409) return this.#sendAgain(head.status);
      if (head.status === 400 && this.#plan.request.session?.upstreamSessionId) {
        this.#state = 'inspect';
        return;
      }
    }
    this.#acceptHead(head);
  }

  onData(chunk: Buffer): void {
    switch (this.#state) {
      case 'pass':
        this.#pass(chunk);
        break;
      case 'frames':
        this.#step(() => this.#frames?.push(chunk));
        break;
      case 'collect':
      case 'inspect':
        this.#collect(chunk);
        break;
      case 'waiting':
      case 'done':
        break;
    }
  }

  onEnd(): void {
    switch (this.#state) {
      case 'pass':
        this.#step(() => this.#done('ok'));
        break;
      case 'frames':
        this.#step(() => this.#endFrames());
        break;
      case 'inspect':
        if (isUnknownSession(this.#collected('utf8'))) return this.#sendAgain(400);
        if (this.#head !== undefined && (this.#rejectHead(this.#head) || this.#refuseForeign(this.#head))) return;
        this.#step(() => this.#endCollect());
        break;
      case 'collect':
        this.#step(() => this.#endCollect());
        break;
      case 'waiting':
      case 'done':
        break;
    }
  }

  onError(error: Error, sent: boolean): void {
    this.#step(() => this.#broke(error, sent));
  }

  // ── QuietStream ────────────────────────────────────────────────────────────────────────────────────────────────

  keepAlive(): void {
    if (!this.isDone()) this.#stream?.keepAlive();
  }

  // ── FrameReply ─────────────────────────────────────────────────────────────────────────────────────────────────

  isDone(): boolean {
    return this.#state === 'done';
  }

  writeStreamHead(): void {
    if (this.#head === undefined || this.#res.headersSent) return;
    this.#res.writeHead(this.#head.status, this.#headers(this.#head, undefined));
    this.#res.flushHeaders();
    const stream = new ReplyStream(this.#res, this, this.#eventStream, this.#plan.holder);
    this.#stream = stream;
    if (!this.#eventStream) return;
    this.#plan.keepAlive.add(this);
    for (const text of this.#notices ?? []) stream.notify(text);
    this.#notices = undefined;
  }

  write(chunk: Part): void {
    if (!this.isDone()) this.#stream?.write(chunk);
  }

  /**
   * Writes an answer up to its last part, which it returns: before that one leaves, the end must be noted. Undefined: the
   * exchange is over, and with it the connection where it was not the client who left.
   */
  async sendParts(answer: StreamedAnswer, encode: (part: Part) => Part): Promise<Part | undefined> {
    clearTimeout(this.#timer);
    this.#inParts = true;
    try {
      const last = await sendParts(answer, async (part) => {
        this.write(encode(part));
        await this.#stream?.drained();
        return !this.isDone();
      });
      return last === undefined || this.isDone() ? undefined : encode(last);
    } catch (error) {
      if (!this.isDone()) {
        this.#control?.abort();
        void this.#settle(this.#plan.known(error).code);
        this.#res.destroy();
      }
      return undefined;
    }
  }

  /** Counts what is kept of the answer, in bytes. False: there is no room for it, and the exchange is over. */
  count(bytes: number): boolean {
    this.#kept ??= this.#plan.holder.share('answers');
    if (this.#kept.set(bytes)) return true;
    this.#control?.abort();
    this.#answerError(answersOverloaded(), 'overloaded');
    return false;
  }

  endParts(tail: Part): void {
    this.#inParts = false;
    this.write(tail);
  }

  breakOff(refusal: Refusal): void {
    if (this.isDone()) return;
    this.#plan.dropped(refusal);
    this.#control?.abort();
    void this.#settle('upstream_failed');
    this.#res.destroy();
  }

  // ── the upstream's answer ──────────────────────────────────────────────────────────────────────────────────────

  #rejectHead(head: ResponseHead): boolean {
    const rejected = this.#plan.onHead(head);
    if (rejected === undefined) return false;
    this.#control?.abort();
    this.#answerError(rejected, rejected.code);
    return true;
  }

  #acceptHead(head: ResponseHead): void {
    if (this.#rejectHead(head)) return;
    this.#eventStream = head.headers['content-type']?.startsWith('text/event-stream') ?? false;
    if (!this.#eventStream && this.#refuseForeign(head)) return;
    if (!this.#eventStream) {
      this.#state = 'collect';
      return;
    }
    this.#frames = new FrameAnswer(this.#plan, head, this, this.#awaited);
    this.#state = 'frames';
    if (!this.#plan.holdHead) this.writeStreamHead();
  }

  #refuseForeign(head: ResponseHead): boolean {
    if (!isForeign(head, this.isGet || this.#plan.idTexts.length > 0)) return false;
    this.#control?.abort();
    const { error, status } = foreignError(head);
    this.#answerError(error, error.code, status);
    return true;
  }

  #headers(head: ResponseHead, length: number | string | undefined): OutgoingHttpHeaders {
    const headers = responseHeaders(head, this.#plan.sessionId, length);
    headers['x-request-id'] = this.#plan.requestId;
    return headers;
  }

  #pass(chunk: Buffer): void {
    if (this.isDone()) return;
    const scan = this.#scan;
    scan?.push(chunk.toString('latin1'));
    for (const { start, end } of scan?.reserved ?? []) renameReserved(chunk, start, end);
    const verdict = scan?.problem ?? (scan?.isComplete === true ? this.#verdictOf(scan) : 'answer');
    if (verdict !== 'answer' && verdict !== 'pass') return this.breakOff(verdict === 'stray' ? 'unasked' : verdict);
    this.#looksInto(chunk);
    this.write(chunk);
  }

  #verdictOf(scan: EnvelopeScan): ReturnType<typeof jsonVerdict> {
    return jsonVerdict(scan, this.#head?.status ?? 0, this.#awaited);
  }

  #uncount(): void {
    this.#kept?.giveBack();
    this.#kept = undefined;
  }

  #looksInto(chunk: Buffer): void {
    const { noted } = this.#plan;
    if (noted !== undefined) (this.#watch ??= new AnswerWatch(noted, false)).sees(chunk);
  }

  #endFrames(): void | Promise<void> {
    const { isWaitedFor, isResumable } = this.#awaited;
    // The client would wait for it until its patience ends.
    if (isWaitedFor && !isResumable) return this.#broke(new Error('the stream ended without it'), true);
    this.#frames?.end();
    return this.#done('ok');
  }

  #collect(chunk: Buffer): void {
    this.#parts.push(chunk);
    if (this.#parts.size > UNCOUNTED_BYTES && !this.count(this.#parts.size)) return;
    const wanted = this.#plan.onResponse !== undefined || this.#state === 'inspect' || this.#isReadWhole;
    if (!wanted && this.#parts.size > WHOLE_ANSWER_BYTES && this.#startsPassing()) return;
    const limit = this.#state === 'inspect' ? INSPECTED_BYTES : MAX_ANSWER_BYTES;
    if (this.#parts.size > limit) {
      this.#control?.abort();
      this.#answerError(
        new AdapterError('upstream_failed', 'The answer of the upstream server is too large.'),
        'upstream_failed',
      );
    }
  }

  /** False: it has to be read as a whole before it leaves. */
  #startsPassing(): boolean {
    if (this.#head === undefined) return false;
    const scan = new EnvelopeScan(true);
    for (const chunk of this.#parts.all) {
      scan.push(chunk.toString('latin1'));
      if (scan.reserved !== undefined) this.#isReadWhole = true;
    }
    const problem = scan.problem ?? (scan.isArray && !this.#plan.takesArrays ? 'kind' : undefined);
    if (problem !== undefined) {
      void this.#refuse(problem);
      return true;
    }
    // It may be a list that was asked for elsewhere.
    if (scan.begunId !== undefined && !this.isGet && !this.#awaited.awaits(scan.begunId)) this.#isReadWhole = true;
    if (this.#isReadWhole || scan.isComplete) return false;
    const length = this.#head.headers['content-length'];
    this.#res.writeHead(this.#head.status, this.#headers(this.#head, length));
    this.#stream = new ReplyStream(this.#res, this, false, this.#plan.holder);
    this.#state = 'pass';
    this.#scan = scan;
    const chunks = this.#parts.all;
    this.#parts.clear();
    this.#uncount();
    for (const chunk of chunks) {
      this.#looksInto(chunk);
      this.write(chunk);
    }
    return true;
  }

  /** A whole answer does not pass: the client gets an error, or nothing where it does not wait for anything. */
  #refuse(refusal: Refusal): void | Promise<void> {
    const head = this.#head;
    if (head === undefined || this.isDone()) return;
    this.#plan.dropped(refusal);
    this.#control?.abort();
    if (!this.isGet && this.#plan.idTexts.length === 0) return this.#endWith(head, []);
    const { error, status } = refusedError(refusal, head);
    this.#answerError(error, error.code, status);
  }

  #collected(encoding: 'utf8' | 'latin1'): string {
    return this.#parts.whole().toString(encoding);
  }

  #endCollect(): void | Promise<void> {
    const head = this.#head;
    if (head === undefined) return;
    const isText = this.#plan.idTexts.length === 0 && head.headers['content-type']?.startsWith('text/') === true;
    if (this.#parts.size === 0 || isText) return this.#endWith(head, this.#parts.all);
    const { onResponse, onStray } = this.#plan;
    const isBytes = onResponse === undefined;
    const text = isBytes ? this.#collected('latin1') : this.#collected('utf8');
    const scan = new EnvelopeScan(isBytes);
    scan.push(text);
    const verdict = this.#verdictOf(scan);
    if (verdict === 'pass') return this.#endWith(head, this.#parts.all);
    // A session is opened by an answer that says so with its status as well.
    const isOdd = (this.#plan.holdHead && head.status >= 300) || (scan.isArray && !this.#plan.takesArrays);
    if (verdict !== 'answer' && verdict !== 'stray') return this.#refuse(verdict);
    if (isOdd) return this.#refuse('kind');
    if (verdict === 'stray' && onStray === undefined) return this.#refuse('unasked');
    // Nothing more can come.
    this.#awaited.seeAll();
    const cleared = scan.reserved === undefined ? text : withoutReserved(text);
    if (isBytes && verdict === 'answer') {
      return this.#endWith(head, cleared === text ? this.#parts.all : [Buffer.from(cleared, 'latin1')]);
    }
    const exceeded = scan.exceeded(ANSWER_LIMITS);
    if (exceeded !== undefined) throw new JsonLimitError(exceeded, ANSWER_LIMITS);
    const message = isBytes ? Buffer.from(cleared, 'latin1').toString('utf8') : cleared;
    const original = cleared === text ? message : undefined;
    const answer = verdict === 'stray' ? onStray?.(message) : onResponse?.(message, head);
    if (answer instanceof Promise) return answer.then((shown) => this.#endWithAnswer(head, original, shown));
    return this.#endWithAnswer(head, original, answer ?? message);
  }

  #endWithAnswer(head: ResponseHead, text: string | undefined, answer: Answer): void | Promise<void> {
    if (typeof answer === 'object') return this.#endWithParts(head, answer);
    // What was left as it came leaves as the bytes that came.
    return this.#endWith(head, answer === text ? this.#parts.all : [Buffer.from(answer)]);
  }

  async #endWithParts(head: ResponseHead, answer: StreamedAnswer): Promise<void> {
    if (this.isDone()) return;
    this.#parts.clear();
    this.#res.writeHead(head.status, this.#headers(head, answer.bytes));
    this.#stream = new ReplyStream(this.#res, this, false, this.#plan.holder);
    const last = await this.sendParts(answer, (part) => part);
    if (last === undefined) return;
    await this.#settle('ok');
    if (!this.#res.destroyed) this.#res.end(last, 'latin1');
  }

  #endWith(head: ResponseHead, body: readonly Buffer[]): void | Promise<void> {
    if (this.isDone()) return;
    let size = 0;
    for (const part of body) size += part.length;
    if (size > UNCOUNTED_BYTES && !this.count(size)) return;
    const kept = this.#kept;
    this.#kept = undefined;
    if (this.#plan.noted !== undefined) noteBytes(this.#plan.noted, body);
    const finish = this.#settle(head.status < 400 ? 'ok' : 'upstream_failed');
    const send = (): void => {
      if (this.#res.destroyed) return kept?.giveBack();
      this.#res.writeHead(head.status, this.#headers(head, size));
      endWhole(this.#res, body, size, this.#plan.holder, kept);
    };
    if (finish === undefined) return send();
    return finish.then(send);
  }

  /** Drops this answer and sends the request that the plan gives instead. */
  #sendAgain(status: number): void {
    this.#control?.abort();
    this.#state = 'waiting';
    this.#parts.clear();
    this.#uncount();
    this.#plan.again?.(status).then(
      (request) => {
        if (!this.isDone()) this.#send(request);
      },
      (error: unknown) => this.#fail(error),
    );
  }

  // ── the client's side ──────────────────────────────────────────────────────────────────────────────────────────

  hold(): void {
    if (this.#holds++ === 0) this.#control?.pause();
  }

  unhold(): void {
    if (--this.#holds === 0) this.#control?.resume();
  }

  /** Runs steps in order; the upstream's data waits while one of them is asynchronous. */
  #step(step: () => void | Promise<void>): void {
    if (this.#work !== undefined) {
      this.#work = this.#work.then(step).catch((error: unknown) => this.#fail(error));
      return;
    }
    let pending: void | Promise<void>;
    try {
      pending = step();
    } catch (error) {
      return this.#fail(error);
    }
    if (pending === undefined) return;
    this.hold();
    this.#work = pending.catch((error: unknown) => this.#fail(error));
    void this.#drainWork();
  }

  async #drainWork(): Promise<void> {
    let last: Promise<void> | undefined;
    while (last !== this.#work) {
      last = this.#work;
      await last;
    }
    this.#work = undefined;
    this.unhold();
  }

  /** Marks the exchange as over; the returned promise must be awaited before the last byte leaves. */
  #settle(outcome: Outcome): Promise<void> | undefined {
    this.#state = 'done';
    clearTimeout(this.#timer);
    if (this.#eventStream) this.#plan.keepAlive.delete(this);
    this.#plan.running.delete(this);
    this.#parts.clear();
    this.#uncount();
    const { noted } = this.#plan;
    if (noted !== undefined) {
      this.#watch?.end();
      if (this.#askedAt > 0) noted.upstreamMs = performance.now() - this.#askedAt;
    }
    return this.#plan.onFinish(outcome, this.#goesOn(outcome));
  }

  #done(outcome: Outcome): void | Promise<void> {
    if (this.isDone()) return;
    const finish = this.#settle(outcome);
    if (finish === undefined) return this.#end();
    return finish.then(() => this.#end());
  }

  #end(): void {
    this.#res.end();
    if (this.#stream === undefined) whileLeaving(this.#res, this.#plan.holder);
    else this.#stream.leaves();
  }

  #endBeforeHead(): void {
    const { requestId, sessionId, request } = this.#plan;
    const end = (): void => sendEndedStream(this.#res, { requestId, sessionId, lastEventId: request.lastEventId });
    const finish = this.#settle('ok');
    if (finish === undefined) end();
    else void finish.then(end);
  }

  #fail(error: unknown): void {
    if (this.isDone()) {
      if (this.#inParts) this.#res.destroy();
      else if (!this.#res.writableEnded) this.#res.end();
      return;
    }
    this.#control?.abort();
    const known = this.#plan.known(error);
    this.#answerError(known, known.code);
  }

  #onClose(): void {
    if (this.isDone()) return;
    this.#control?.abort();
    void this.#settle('client_closed');
  }

  #onTimeout(): void {
    if (this.isDone()) return;
    if (!this.#isAfterLimit && this.#awaited.isSeen && this.#awaited.unanswered.length > 0) {
      this.#isAfterLimit = true;
      this.#timer = setTimeout(() => this.#onTimeout(), AFTER_LIMIT_MS);
      return;
    }
    this.#control?.abort();
    if (this.#isAnswered()) return void this.#done('ok');
    const answer = this.#plan.onTimeout(this.#awaited.unanswered);
    if (typeof answer === 'string') this.#answerText(200, answer, 'timeout');
    else this.#answerError(answer, answer.code);
  }

  /** Whether all responses have left, and nothing of one is still to come. */
  #isAnswered(): boolean {
    return this.#awaited.isAnswered && !this.#inParts;
  }

  /** Whether an exchange that ends so is one that the client can resume, because its responses are still to come. */
  #goesOn(outcome: Outcome): boolean {
    const wasLeftOpen = outcome === 'ok' || outcome === 'upstream_broke' || outcome === 'client_closed';
    return wasLeftOpen && this.#awaited.goesOn;
  }

  /** Whether the client loses nothing when its stream ends here: it can resume it, or no answer is left to come. */
  #mayJustEnd(): boolean {
    if (this.#inParts) return false;
    return this.#res.headersSent && this.#eventStream && this.#awaited.mayEnd;
  }

  /** The connection to the upstream broke. A client that can resume the stream does so; others get an error. */
  #broke(error: Error, sent: boolean): void {
    if (this.isDone()) return;
    if (this.#mayJustEnd()) {
      void this.#done('upstream_broke');
      return;
    }
    const code = sent ? 'upstream_failed' : 'upstream_unreachable';
    const known =
      error.name === 'StoreUnavailable' ? this.#plan.known(error) : new AdapterError(code, undefined, { cause: error });
    this.#answerError(known, 'upstream_broke');
  }

  #answerError(error: AdapterError, outcome: Outcome, status: number = error.status): void {
    // Nobody waits for it any more.
    if (this.#isAnswered()) return void this.#done('ok');
    if (error.retryAfter !== undefined && !this.#res.headersSent)
      this.#res.setHeader('retry-after', String(error.retryAfter));
    const { unanswered } = this.#awaited;
    const ids = unanswered.length === 0 ? ['null'] : unanswered;
    const texts = ids.map((idText) => rpcErrorText(error.code, error.message, idText, error.data));
    this.#answerText(status, texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`, outcome);
  }

  #answerText(status: number, text: string, outcome: Outcome): void {
    if (this.isDone()) return;
    const finish = this.#settle(outcome);
    const send = (): void => {
      if (this.#res.destroyed || this.#res.writableEnded) return;
      if (this.#res.headersSent) {
        // Half an answer must not look like a whole one, nor may another answer follow it on this connection.
        if (this.#eventStream && !this.#inParts) this.#stream?.endWith(text);
        else this.#res.destroy();
        return;
      }
      const headers: Record<string, string | number> = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        'x-request-id': this.#plan.requestId,
      };
      if (this.#plan.sessionId !== undefined) headers['mcp-session-id'] = this.#plan.sessionId;
      this.#res.writeHead(status, headers);
      this.#res.end(text);
    };
    if (finish === undefined) send();
    else void finish.then(send);
  }
}
