import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

import { AdapterError, type ErrorCode, rpcErrorText, upstreamNotJson } from '../errors.ts';
import type { ResponseControl, ResponseHead, ResponseSink, UpstreamRequest } from '../upstream/upstream.ts';
import { AnswerWatch, noteAnswer, noteBytes } from './answer-watch.ts';
import type { Answer, StreamedAnswer } from './answer.ts';
import { endWhole } from './end-whole.ts';
import { responseHeaders } from './headers.ts';
import type { QuietStream } from './keep-alive.ts';
import { ListChangedWatch, saysListChanged } from './list-changed.ts';
import { isId, responseIds } from './message.ts';
import { beginsOwnResponse, isOwnResponse } from './own-response.ts';
import { AFTER_LIMIT_MS, type Outcome, type Plan } from './plan.ts';
import { type Flow, ReplyStream } from './reply-stream.ts';
import type { Running } from './running.ts';
import { asData, type Frame, FrameSplitter, openFrame, withData } from './sse-frames.ts';
import { type Part, sendParts } from './stream-answer.ts';
import { isUnknownSession } from './unknown-session.ts';

export type { Outcome, Plan } from './plan.ts';

type State = 'waiting' | 'collect' | 'inspect' | 'pass' | 'frames' | 'done';

/** Answers up to this size get a Content-Length and one write; larger ones are streamed. */
const WHOLE_BYTES = 256 << 10;
/** An answer that has to be read as a whole (a list, a handshake) may be this large. */
const COLLECT_LIMIT_BYTES = 64 << 20;
const INSPECT_LIMIT_BYTES = 64 << 10;
/** A frame that grows larger is not kept in memory where nobody wants to see it. */
const LARGE_FRAME_CHARS = 256 << 10;
const FRAME_TAIL = Buffer.from('\n\n');
const LIKE_A_MESSAGE = /^\s*[[{]/;
/** Statuses that say something about the request or the moment; any other failure is the upstream's own (502). */
const PASSED_STATUS = new Set([400, 405, 429, 503]);

/**
 * One HTTP exchange with the client, carried by one HTTP exchange with the upstream. Bytes pass as they are; a body
 * is read only where the plan asks for it.
 *
 *     waiting ──head──▶ pass      event streams and large answers, chunk by chunk
 *        │        ├───▶ frames    event streams whose response somebody wants to see
 *        │        ├───▶ collect   small answers, answers that somebody wants to see
 *        │        └───▶ inspect   a 400 that may mean "session terminated"  ──▶ waiting (sent again) or collect
 *        └──────────────▶ done    from every state: end, error, time out, client gone
 *
 * In `collect` and `frames`, what the client gets may itself come in parts, while the upstream's data waits.
 */
export class Exchange implements ResponseSink, QuietStream, Running, Flow {
  slot = -1;
  readonly #plan: Plan;
  readonly #res: ServerResponse;
  #state: State = 'waiting';
  #control: ResponseControl | undefined;
  #head: ResponseHead | undefined;
  #eventStream = false;
  #chunks: Buffer[] = [];
  #size = 0;
  #splitter: FrameSplitter | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAfterLimit = false;
  /** Reasons to hold the upstream's data back: a slow client, asynchronous work. */
  #holds = 0;
  #work: Promise<void> | undefined;
  /** The stream carries event ids, so the client can take it up again elsewhere. */
  #resumable = false;
  /** Ids of the requests whose responses have not been seen; those of a batch may come one by one. */
  #awaited: readonly string[];
  /** The same until the responses have left, as far as they are read. */
  #unanswered: readonly string[];
  /** Ids of requests that the client has cancelled. */
  #cancelled: string[] | undefined;
  /** Undefined while nothing of the body has left. */
  #stream: ReplyStream | undefined;
  #listChanged: ListChangedWatch | undefined;
  /** Frames that wait for the head. */
  #held = '';
  /** Messages of our own that wait for the head. */
  #notices: string[] | undefined;
  /** It was found out whether the large frame that has begun may pass as it comes. */
  #isLargeKnown = false;
  /** A part of an answer has left; nothing but its rest can follow. */
  #inParts = false;
  /** Of what passes without being read. */
  #watch: AnswerWatch | undefined;
  /** When the upstream was asked; 0 where nobody wants to know. */
  #askedAt = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#res = plan.reply;
    this.#awaited = plan.idTexts;
    this.#unanswered = plan.idTexts;
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
    (this.#cancelled ??= []).push(idText);
    const end = (): void => {
      if (!this.#isWaitedFor()) this.finish('cancelled');
    };
    setTimeout(end, graceMs).unref();
  }

  /** Ends a stream that the client can open again, without an error; a request that stays unanswered gets one. */
  endStream(): void {
    if (this.#state === 'done') return;
    this.#control?.abort();
    if (this.#mayJustEnd()) void this.#done('ok');
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
        this.#step(() => this.#passFrames(chunk));
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
        if (isUnknownSession(this.#collected())) return this.#sendAgain(400);
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
    if (!this.#isDone()) this.#stream?.keepAlive();
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
    const { onResponse, onAnswered, onStray } = this.#plan;
    if (onResponse !== undefined || onAnswered !== undefined || onStray !== undefined) {
      this.#splitter = new FrameSplitter();
      this.#state = 'frames';
      if (!this.#plan.holdHead) this.#writeStreamHead();
      return;
    }
    this.#state = 'pass';
    this.#writeStreamHead();
  }

  /** Pages of web servers and proxies are not passed on: no client of MCP can read them, but a browser would. */
  #refuseForeign(head: ResponseHead): boolean {
    const type = head.headers['content-type'];
    const expectsMessage = type !== undefined && (this.isGet || this.#plan.idTexts.length > 0);
    if (isJson(head) || (head.status < 400 && !expectsMessage)) return false;
    this.#control?.abort();
    const what = head.status < 400 ? `content of the type ${type?.slice(0, 100)}` : `HTTP ${head.status}`;
    const error = new AdapterError('upstream_failed', `The upstream server answered with ${what}.`);
    this.#answerError(error, 'upstream_failed', PASSED_STATUS.has(head.status) ? head.status : 502);
    return true;
  }

  #headers(head: ResponseHead, length: number | string | undefined): OutgoingHttpHeaders {
    const headers = responseHeaders(head, this.#plan.sessionId, length);
    headers['x-request-id'] = this.#plan.requestId;
    return headers;
  }

  #writeStreamHead(): void {
    if (this.#head === undefined || this.#res.headersSent) return;
    this.#res.writeHead(this.#head.status, this.#headers(this.#head, undefined));
    this.#res.flushHeaders();
    const stream = new ReplyStream(this.#res, this, this.#eventStream);
    this.#stream = stream;
    if (!this.#eventStream) return;
    this.#plan.keepAlive.add(this);
    for (const text of this.#notices ?? []) stream.notify(text);
    this.#notices = undefined;
  }

  #pass(chunk: Buffer): void {
    this.#looksInto(chunk);
    if (!this.#eventStream) return this.#write(chunk);
    if (!this.#resumable) this.#resumable = mentionsEventId(chunk);
    if (this.#plan.onListChanged !== undefined && (this.#listChanged ??= new ListChangedWatch()).sees(chunk)) {
      this.#step(async () => {
        await this.#plan.onListChanged?.();
        this.#write(chunk);
      });
      return;
    }
    this.#step(() => this.#write(chunk));
  }

  async #passFrames(chunk: Buffer): Promise<void> {
    const frames = this.#splitter?.push(chunk) ?? [];
    for (const frame of frames) {
      await this.#passFrame(frame);
      if (this.#isDone()) return;
    }
    if (this.#splitter !== undefined && this.#splitter.length > LARGE_FRAME_CHARS) this.#passLarge(chunk);
  }

  /** A large answer that nobody wants to see is not kept in memory; but it must be the answer. */
  #passLarge(chunk: Buffer): void {
    const { onResponse, onAnswered, idTexts } = this.#plan;
    // What has been decoded of it must not end within a character.
    const endsWhole = (chunk.at(-1) ?? 0) < 0x80;
    if (onResponse !== undefined || onAnswered !== undefined || this.#isLargeKnown || !endsWhole) return;
    this.#isLargeKnown = true;
    const { rest = '' } = this.#splitter ?? {};
    if (!beginsOwnResponse(rest.slice(0, LARGE_FRAME_CHARS), idTexts)) return;
    const begun = Buffer.from(rest);
    this.#looksInto(begun);
    this.#write(begun);
    this.#splitter = undefined;
    this.#state = 'pass';
  }

  #looksInto(chunk: Buffer): void {
    const { noted } = this.#plan;
    if (noted !== undefined) (this.#watch ??= new AnswerWatch(noted, this.#eventStream)).sees(chunk);
  }

  async #passFrame(frame: Frame): Promise<void> {
    if (frame.id !== undefined) this.#resumable = true;
    let out = frame.raw;
    const { data } = frame;
    if (data !== undefined && saysListChanged(data)) await this.#plan.onListChanged?.();
    // Clients take no other events for messages.
    const isMessage = frame.event === undefined || frame.event === '' || frame.event === 'message';
    const ids = data !== undefined && isMessage ? this.#responseIds(data) : [];
    if (data !== undefined && this.#head !== undefined && this.#isAwaited(ids)) {
      const answer = await this.#plan.onResponse?.(data, this.#head);
      if (typeof answer === 'object') return this.#passParts(frame, answer);
      const { noted } = this.#plan;
      if (noted !== undefined) {
        noteAnswer(noted, answer ?? data);
        if (this.#awaited.length === 0) noted.isAnswered = true;
      }
      if (answer !== undefined && answer !== data) out = withData(frame, answer);
      if (this.#awaited.length === 0) await this.#plan.onAnswered?.();
      if (this.#isDone()) return;
      this.#writeStreamHead();
    } else if (data !== undefined && this.#plan.onStray !== undefined && ids.length > 0) {
      const shown = await this.#plan.onStray(data);
      if (this.#isDone()) return;
      if (shown !== data) out = withData(frame, shown);
    }
    // Messages before the response wait for it only while the head does.
    if (this.#res.headersSent) this.#write(Buffer.from(this.#takeHeld() + out));
    else this.#held += out;
    this.#unanswered = this.#awaited;
  }

  /** A frame whose data comes in parts. */
  async #passParts(frame: Frame, answer: StreamedAnswer): Promise<void> {
    if (this.#isDone()) return;
    this.#writeStreamHead();
    this.#write(Buffer.from(this.#takeHeld() + openFrame(frame)));
    const last = await this.#sendParts(answer, asData);
    if (last === undefined) return;
    this.#write(last);
    if (this.#awaited.length === 0) await this.#plan.onAnswered?.();
    if (this.#plan.noted !== undefined) this.#plan.noted.isAnswered = true;
    this.#inParts = false;
    this.#write(FRAME_TAIL);
    this.#unanswered = this.#awaited;
  }

  #takeHeld(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }

  /** Ids of the responses in a message, where somebody asks for them. */
  #responseIds(data: string): readonly (string | number)[] {
    const { onResponse, onStray } = this.#plan;
    if (!this.isGet && this.#awaited.length === 0 && onStray === undefined) return [];
    const ids = responseIds(data);
    // Some clients read more than JSON, such as NaN: what cannot be worked on must not reach them as it is.
    if (ids === undefined && (onResponse ?? onStray) !== undefined && LIKE_A_MESSAGE.test(data)) {
      throw upstreamNotJson();
    }
    return ids ?? [];
  }

  /** Whether a response of these is awaited; it is not any more. A GET may take up the stream of any request again. */
  #isAwaited(ids: readonly (string | number)[]): boolean {
    if (this.isGet) return ids.length > 0;
    const left = this.#awaited.filter((idText) => !ids.some((id) => isId(id, idText)));
    const found = left.length < this.#awaited.length;
    this.#awaited = left;
    return found;
  }

  #endFrames(): void | Promise<void> {
    // The client would wait for it until its patience ends.
    if (this.#isWaitedFor() && !this.#resumable) return this.#broke(new Error('the stream ended without it'), true);
    this.#writeStreamHead();
    const rest = this.#takeHeld() + (this.#splitter?.rest ?? '');
    if (rest !== '') this.#write(Buffer.from(rest));
    return this.#done('ok');
  }

  #collect(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const wanted = this.#plan.onResponse !== undefined || this.#state === 'inspect';
    if (!wanted && this.#size > WHOLE_BYTES) return this.#startPassing();
    const limit = this.#state === 'inspect' ? INSPECT_LIMIT_BYTES : COLLECT_LIMIT_BYTES;
    if (this.#size > limit) {
      this.#control?.abort();
      this.#answerError(
        new AdapterError('upstream_failed', 'The answer of the upstream server is too large.'),
        'upstream_failed',
      );
    }
  }

  #startPassing(): void {
    if (this.#head === undefined) return;
    const length = this.#head.headers['content-length'];
    this.#res.writeHead(this.#head.status, this.#headers(this.#head, length));
    this.#stream = new ReplyStream(this.#res, this, false);
    this.#state = 'pass';
    const chunks = this.#chunks;
    this.#chunks = [];
    for (const chunk of chunks) {
      this.#looksInto(chunk);
      this.#write(chunk);
    }
  }

  #collected(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  #endCollect(): void | Promise<void> {
    const head = this.#head;
    if (head === undefined) return;
    const { onResponse, onStray } = this.#plan;
    const isRead = head.status >= 200 && head.status < 300;
    if (!isRead || (onResponse === undefined && !this.#isStray())) return this.#endWith(head, this.#chunks);
    // Nothing more can come.
    this.#awaited = [];
    const text = this.#collected();
    const answer = onResponse === undefined ? (onStray?.(text) ?? text) : onResponse(text, head);
    if (answer instanceof Promise) return answer.then((shown) => this.#endWithAnswer(head, text, shown));
    return this.#endWithAnswer(head, text, answer);
  }

  /** Whether the collected body is, or holds, anything but the response that was asked for. */
  #isStray(): boolean {
    if (this.#plan.onStray === undefined || this.#size === 0) return false;
    // Only an id is looked for, and JSON is ASCII where that matters.
    return !isOwnResponse(Buffer.concat(this.#chunks).toString('latin1'), this.#plan.idTexts);
  }

  #endWithAnswer(head: ResponseHead, text: string, answer: Answer): void | Promise<void> {
    if (typeof answer === 'object') return this.#endWithParts(head, answer);
    // What was left as it came leaves as the bytes that came.
    return this.#endWith(head, answer === text ? this.#chunks : [Buffer.from(answer)]);
  }

  async #endWithParts(head: ResponseHead, answer: StreamedAnswer): Promise<void> {
    if (this.#isDone()) return;
    this.#chunks = [];
    this.#res.writeHead(head.status, this.#headers(head, answer.bytes));
    this.#stream = new ReplyStream(this.#res, this, false);
    const last = await this.#sendParts(answer, (part) => part);
    if (last === undefined) return;
    await this.#settle('ok');
    if (!this.#res.destroyed) this.#res.end(last, 'latin1');
  }

  /**
   * Writes an answer up to its last part, which it returns: before that one leaves, the end must be noted. Undefined: the
   * exchange is over, and with it the connection where it was not the client who left.
   */
  async #sendParts(answer: StreamedAnswer, encode: (part: Part) => Part): Promise<Part | undefined> {
    clearTimeout(this.#timer);
    this.#inParts = true;
    try {
      const last = await sendParts(answer, async (part) => {
        this.#write(encode(part));
        await this.#stream?.drained();
        return !this.#isDone();
      });
      return last === undefined || this.#isDone() ? undefined : encode(last);
    } catch (error) {
      if (!this.#isDone()) {
        this.#control?.abort();
        void this.#settle(this.#plan.known(error).code);
        this.#res.destroy();
      }
      return undefined;
    }
  }

  #endWith(head: ResponseHead, body: readonly Buffer[]): void | Promise<void> {
    if (this.#isDone()) return;
    if (this.#plan.noted !== undefined) noteBytes(this.#plan.noted, body);
    const finish = this.#settle(head.status < 400 ? 'ok' : 'upstream_failed');
    const send = (): void => {
      if (this.#res.destroyed) return;
      let size = 0;
      for (const part of body) size += part.length;
      this.#res.writeHead(head.status, this.#headers(head, size));
      endWhole(this.#res, body, size);
    };
    if (finish === undefined) return send();
    return finish.then(send);
  }

  /** Drops this answer and sends the request that the plan gives instead. */
  #sendAgain(status: number): void {
    this.#control?.abort();
    this.#state = 'waiting';
    this.#chunks = [];
    this.#size = 0;
    this.#plan.again?.(status).then(
      (request) => {
        if (!this.#isDone()) this.#send(request);
      },
      (error: unknown) => this.#fail(error),
    );
  }

  // ── the client's side ──────────────────────────────────────────────────────────────────────────────────────────

  #write(chunk: Part): void {
    if (!this.#isDone()) this.#stream?.write(chunk);
  }

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

  #isDone(): boolean {
    return this.#state === 'done';
  }

  /** Marks the exchange as over; the returned promise must be awaited before the last byte leaves. */
  #settle(outcome: Outcome): Promise<void> | undefined {
    this.#state = 'done';
    clearTimeout(this.#timer);
    if (this.#eventStream) this.#plan.keepAlive.delete(this);
    this.#plan.running.delete(this);
    this.#chunks = [];
    const { noted } = this.#plan;
    if (noted !== undefined) {
      this.#watch?.end();
      if (this.#askedAt > 0) noted.upstreamMs = performance.now() - this.#askedAt;
    }
    return this.#plan.onFinish(outcome, this.#goesOn(outcome));
  }

  #done(outcome: Outcome): void | Promise<void> {
    if (this.#isDone()) return;
    const finish = this.#settle(outcome);
    if (finish === undefined) {
      this.#res.end();
      return;
    }
    return finish.then(() => void this.#res.end());
  }

  #fail(error: unknown): void {
    if (this.#isDone()) {
      if (this.#inParts) this.#res.destroy();
      else if (!this.#res.writableEnded) this.#res.end();
      return;
    }
    this.#control?.abort();
    const known = this.#plan.known(error);
    this.#answerError(known, known.code);
  }

  #onClose(): void {
    if (this.#isDone()) return;
    this.#control?.abort();
    void this.#settle('client_closed');
  }

  #onTimeout(): void {
    if (this.#isDone()) return;
    if (!this.#isAfterLimit && this.#awaited.length === 0 && this.#unanswered.length > 0) {
      this.#isAfterLimit = true;
      this.#timer = setTimeout(() => this.#onTimeout(), AFTER_LIMIT_MS);
      return;
    }
    this.#control?.abort();
    if (this.#isAnswered()) return void this.#done('ok');
    const answer = this.#plan.onTimeout(this.#unanswered);
    if (typeof answer === 'string') this.#answerText(200, answer, 'timeout');
    else this.#answerError(answer, answer.code);
  }

  /** Whether all responses have left; never where none was asked for. */
  #isAnswered(): boolean {
    return this.#unanswered.length === 0 && this.#plan.idTexts.length > 0 && !this.#inParts;
  }

  /** Whether there is a response to come that the client has not cancelled. */
  #isWaitedFor(): boolean {
    const cancelled = this.#cancelled;
    if (cancelled === undefined) return this.#unanswered.length > 0;
    return this.#unanswered.some((idText) => !cancelled.includes(idText));
  }

  /** Whether an exchange that ends so is one that the client can resume, because its responses are still to come. */
  #goesOn(outcome: Outcome): boolean {
    if (!this.#resumable || this.#awaited.length === 0 || !this.#isWaitedFor()) return false;
    return outcome === 'ok' || outcome === 'upstream_broke' || outcome === 'client_closed';
  }

  /** Whether the client loses nothing when its stream ends here: it can resume it, or no answer is left to come. */
  #mayJustEnd(): boolean {
    if (this.#inParts) return false;
    return this.#res.headersSent && this.#eventStream && (this.#resumable || this.#unanswered.length === 0);
  }

  /** The connection to the upstream broke. A client that can resume the stream does so; others get an error. */
  #broke(error: Error, sent: boolean): void {
    if (this.#isDone()) return;
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
    const ids = this.#unanswered.length === 0 ? ['null'] : this.#unanswered;
    const texts = ids.map((idText) => rpcErrorText(error.code, error.message, idText, error.data));
    this.#answerText(status, texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(',')}]`, outcome);
  }

  #answerText(status: number, text: string, outcome: Outcome): void {
    if (this.#isDone()) return;
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

function isJson(head: ResponseHead): boolean {
  return head.headers['content-type']?.startsWith('application/json') ?? false;
}

function mentionsEventId(chunk: Buffer): boolean {
  return (chunk[0] === 0x69 && chunk[1] === 0x64 && chunk[2] === 0x3a) || chunk.includes('\nid:');
}
