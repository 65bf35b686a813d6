import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

import { AdapterError, answersOverloaded, type ErrorCode } from '../errors.ts';
import type { StreamedAnswer } from '../exchange/answers/answer.ts';
import { sendWhole } from '../exchange/answers/end-whole.ts';
import { sendEndedStream } from '../exchange/answers/ended-stream.ts';
import { EventBytes, openEvent } from '../exchange/answers/event-text.ts';
import { isEventStream, responseHeaders } from '../exchange/headers.ts';
import type { KeepAlive, QuietStream } from '../exchange/answers/keep-alive.ts';
import { type Flow, ReplyStream } from '../exchange/answers/reply-stream.ts';
import type { Running, RunningExchanges } from '../exchange/running.ts';
import type { Frame } from '../exchange/scanning/sse-frames.ts';
import { type Part, sendParts } from '../exchange/answers/stream-answer.ts';
import { whileLeaving } from '../exchange/answers/unread.ts';
import { type Ending, failed, OK } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply, ReplyControl } from '../path/reply.ts';
import type { ReplyMessage } from '../path/reply-message.ts';
import type { ResponseHead } from '../exchange/upstream.ts';
import { errorHeaders, errorText } from './error-text.ts';
import { HeldFrames } from './held-frames.ts';
import { messageEvent, NO_FRAME } from './message-event.ts';

const FRAME_TAIL = '\n\n';

export interface HttpReplyDeps {
  readonly keepAlive: KeepAlive;
  readonly running: RunningExchanges;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}

/**
 * The reply as a client reads it over Streamable HTTP: one body, or an event stream, as the upstream answers.
 *
 *     head ─┬─▶ one body: kept up to the end, or written while it comes
 *           └─▶ event stream: each message as it comes, messages of our own between them
 *     end ──▶ what is left of the answer, an error for what is unanswered, or nothing where the client can go on
 */
export class HttpReply implements Reply, QuietStream, Running, Flow {
  readonly reads = false;
  slot = -1;
  readonly #operation: Operation;
  readonly #res: ServerResponse;
  readonly #parts: HttpReplyDeps;
  #isDone = false;
  #control: ReplyControl | undefined;
  #head: ResponseHead | undefined;
  #isEventStream = false;
  /** Undefined while nothing of the body has left. */
  #stream: ReplyStream | undefined;
  /** Is sent as a whole at the end. */
  #whole: ReplyMessage | undefined;
  /** Leaves at the end: before that, the client must not think that it has everything. */
  #lastPart: Part | undefined;
  /** What waits for the head. */
  #held: HeldFrames | undefined;
  /** Why nobody waits any more; ends the operation as soon as it has started. */
  #stopped: Ending | undefined;
  #aborter: AbortController | undefined;

  constructor(operation: Operation, res: ServerResponse, parts: HttpReplyDeps) {
    this.#operation = operation;
    this.#res = res;
    this.#parts = parts;
    parts.running.add(this);
    res.on('close', () => this.#onClose());
    if (res.destroyed) this.#onClose();
  }

  get id(): string {
    return this.#operation.streamId;
  }

  get serverId(): string {
    return this.#operation.serverId;
  }

  get sessionId(): string | undefined {
    return this.#operation.sessionId;
  }

  get idTexts(): readonly string[] {
    return this.#operation.idTexts;
  }

  get isGet(): boolean {
    return this.#operation.isGet;
  }

  get signal(): AbortSignal {
    this.#aborter ??= new AbortController();
    if (this.#stopped !== undefined) this.#aborter.abort(this.#stopped.error);
    return this.#aborter.signal;
  }

  get isGone(): boolean {
    return this.#stopped !== undefined;
  }

  afterwards(run: () => void): void {
    if (this.#res.destroyed) run();
    else this.#res.once('close', run);
  }

  // ── from outside: other replicas, the end of the process ───────────────────────────────────────────────────────

  /** Ends the operation: the session ended, its requests were cancelled, the process stops. */
  finish(code: ErrorCode): void {
    // Nobody waits for an error any more where all is answered.
    const isAnswered = this.#operation.awaited.isAnswered && !this.#operation.isLeaving;
    this.#stop(isAnswered ? OK : failed(new AdapterError(code)));
  }

  /** The client waits for this response no longer. When it waits for no other either, the operation ends after `graceMs`. */
  cancel(idText: string, graceMs: number): void {
    const { awaited } = this.#operation;
    awaited.cancel(idText);
    if (awaited.isWaitedFor) return;
    // Who answers by himself need not go on.
    if (this.#control === undefined) return this.finish('cancelled');
    setTimeout(() => this.finish('cancelled'), graceMs).unref();
  }

  /** Ends a stream that the client can open again, without an error; a request that stays unanswered gets one. */
  endStream(): void {
    if (this.#isDone) return;
    if (this.isGet || this.#mayJustEnd()) this.#stop(OK);
    else this.finish('draining');
  }

  /** Puts a message of our own into an event stream. False: there is none, or it has ended. */
  notify(text: string): boolean {
    if (this.#isDone || (this.#head !== undefined && !this.#isEventStream)) return false;
    if (this.#stream !== undefined) this.#stream.notify(text);
    else (this.#held ??= new HeldFrames()).notify(text);
    return true;
  }

  keepAlive(): void {
    if (!this.#isDone) this.#stream?.keepAlive();
  }

  hold(): void {
    this.#control?.pause();
  }

  unhold(): void {
    this.#control?.resume();
  }

  #onClose(): void {
    if (this.#isDone) return;
    this.#operation.caller.attributes.outcome = 'client_closed';
    this.#stop({ outcome: 'client_closed', error: new AdapterError('cancelled') });
  }

  #stop(ending: Ending): void {
    if (this.#isDone) return;
    this.#stopped ??= ending;
    this.#aborter?.abort(ending.error);
    this.#control?.abort(ending);
  }

  // ── Reply ──────────────────────────────────────────────────────────────────────────────────────────────────────

  start(control: ReplyControl): void {
    this.#control = control;
    // It went while the request was looked at, and will not be heard of again.
    if (this.#stopped !== undefined) control.abort(this.#stopped);
  }

  head(head: ResponseHead): void {
    this.#head = head;
    this.#isEventStream = isEventStream(head);
    if (this.#isEventStream && !this.#operation.defersHead) this.#writeHead(head);
  }

  message(message: ReplyMessage): Promise<void> | undefined {
    if (this.#isDone || this.#head === undefined) return undefined;
    const { streamed } = message;
    if (this.#isEventStream) {
      if (streamed !== undefined) return this.#event(message.frame, streamed);
      this.#writeMessage(this.#head, message);
    } else if (streamed !== undefined) return this.#body(this.#head, streamed);
    else if (message.isOpen) this.#open(this.#head, message);
    else this.#whole = message;
    return undefined;
  }

  data(chunk: Buffer, isLast: boolean): undefined {
    if (this.#isDone) return;
    this.#stream?.write(chunk);
    if (isLast) this.#operation.awaited.answerSeen();
  }

  end(ending: Ending): undefined {
    if (!this.#isDone) this.#end(ending);
  }

  #end(ending: Ending): void {
    this.#isDone = true;
    if (this.#isEventStream) this.#parts.keepAlive.delete(this);
    this.#parts.running.delete(this);
    const { attributes } = this.#operation.caller;
    attributes.outcome = ending.outcome;
    if (this.#res.destroyed) return;
    const isFailure = ending.error !== undefined || ending.text !== undefined;
    if (!isFailure || (ending.outcome === 'upstream_broke' && this.#mayJustEnd())) return this.#finish();
    // Nobody waits for an error any more.
    const { awaited, isLeaving } = this.#operation;
    if (!awaited.isAnswered || isLeaving) return this.#fail(ending);
    attributes.outcome = 'ok';
    return this.#finish();
  }

  // ── the answer ─────────────────────────────────────────────────────────────────────────────────────────────────

  #headers(head: ResponseHead, length: number | string | undefined): OutgoingHttpHeaders {
    const headers = responseHeaders(head, this.#operation.sessionId, length);
    headers['x-request-id'] = this.#operation.caller.attributes.requestId;
    return headers;
  }

  #writeHead(head: ResponseHead, length?: number | string): void {
    if (this.#stream !== undefined) return;
    this.#res.writeHead(head.status, this.#headers(head, length));
    this.#stream = new ReplyStream(this.#res, this, this.#isEventStream, this.#operation.caller.holder);
    if (!this.#isEventStream) return;
    this.#res.flushHeaders();
    this.#parts.keepAlive.add(this);
    for (const text of this.#held?.notices ?? []) this.#stream.notify(text);
  }

  #writeMessage(head: ResponseHead, message: ReplyMessage): void {
    const { frame = NO_FRAME, body } = message;
    if (message.kind === 'response') this.#writeHead(head);
    if (message.isOpen) {
      this.#write(openEvent(frame));
      for (const part of body as readonly Buffer[]) this.#stream?.write(part);
      return;
    }
    const out = messageEvent(message);
    if (out !== '') this.#write(out);
    this.#operation.awaited.answerSeen();
  }

  /** Writes text of frames; before the head has left, it waits for that. */
  #write(out: string): void {
    if (this.#stream !== undefined) this.#stream.write(Buffer.from((this.#held?.take() ?? '') + out));
    else (this.#held ??= new HeldFrames()).push(out);
  }

  /** A whole body that passes while it comes. */
  #open(head: ResponseHead, message: ReplyMessage): void {
    this.#writeHead(head, head.headers['content-length']);
    for (const part of message.body as readonly Buffer[]) this.#stream?.write(part);
  }

  /** A whole body that the adapter makes while it leaves. */
  async #body(head: ResponseHead, answer: StreamedAnswer): Promise<void> {
    this.#writeHead(head, answer.bytes);
    this.#lastPart = await this.#sendParts(answer, (part) => part);
  }

  /** A frame whose data comes in parts. */
  async #event(frame: Frame = NO_FRAME, answer: StreamedAnswer): Promise<void> {
    if (this.#head !== undefined) this.#writeHead(this.#head);
    this.#write(openEvent(frame));
    const last = await this.#sendParts(answer, new EventBytes().push);
    if (last === undefined || this.#isDone) return;
    this.#stream?.write(last);
    this.#stream?.write(FRAME_TAIL);
    this.#operation.isLeaving = false;
    this.#operation.awaited.answerSeen();
  }

  /** Writes an answer up to its last part, which it returns. Undefined: the operation is over. */
  async #sendParts(answer: StreamedAnswer, encode: (part: Part) => Part): Promise<Part | undefined> {
    this.#operation.isLeaving = true;
    this.#operation.isUntimed = true;
    const last = await sendParts(answer, async (part) => {
      if (!this.#isDone) this.#stream?.write(encode(part), answer.releasable);
      await this.#stream?.drained();
      return !this.#isDone && !this.#res.destroyed;
    });
    return last === undefined || this.#isDone ? undefined : encode(last);
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether the client loses nothing when its stream ends here: it can resume it, or no answer is left to come. */
  #mayJustEnd(): boolean {
    const { isLeaving, awaited } = this.#operation;
    return this.#isEventStream && this.#stream !== undefined && !isLeaving && awaited.mayEnd;
  }

  #finish(): void {
    const res = this.#res;
    const head = this.#head;
    if (head === undefined || (this.isGet && !res.headersSent && this.#stopped !== undefined)) {
      return this.#endBeforeHead();
    }
    if (this.#stream === undefined && !this.#isEventStream) return this.#sendWhole(head);
    this.#writeHead(head);
    const held = this.#held?.take() ?? '';
    if (held !== '') this.#stream?.write(Buffer.from(held));
    if (this.#lastPart === undefined) res.end();
    else res.end(this.#lastPart, 'latin1');
    this.#stream?.leaves();
  }

  #sendWhole(head: ResponseHead): void {
    const { holder, attributes } = this.#operation.caller;
    const writeHead = (size: number): void => void this.#res.writeHead(head.status, this.#headers(head, size));
    if (sendWhole(this.#res, this.#whole?.body ?? [], holder, writeHead)) return;
    attributes.outcome = 'overloaded';
    this.#fail(failed(answersOverloaded()));
  }

  #endBeforeHead(): void {
    const { caller, sessionId, lastEventId } = this.#operation;
    sendEndedStream(this.#res, { requestId: caller.attributes.requestId, sessionId, lastEventId });
  }

  #fail({ error, text, status, headers, breaksOff = false }: Ending): void {
    const res = this.#res;
    if (res.writableEnded) return;
    const { unanswered } = this.#operation.awaited;
    const { attributes } = this.#operation.caller;
    const known = text === undefined ? this.#parts.known(error) : undefined;
    const body = text ?? errorText(known as AdapterError, unanswered);
    if (known !== undefined && attributes.outcome === 'internal') attributes.outcome = known.code;
    if (this.#stream !== undefined) {
      // Half an answer must not look like a whole one, nor may another answer follow it on this connection.
      if (this.#isEventStream && !this.#operation.isLeaving && !breaksOff) this.#stream.endWith(body);
      else res.destroy();
      return;
    }
    const own: OutgoingHttpHeaders = { ...headers, ...errorHeaders(body, attributes.requestId, known) };
    if (known?.code === 'method_not_allowed') own['allow'] = 'POST, DELETE';
    if (this.#control !== undefined && this.#operation.sessionId !== undefined)
      own['mcp-session-id'] = this.#operation.sessionId;
    res.writeHead(status ?? known?.status ?? 200, own);
    res.end(body);
    whileLeaving(res, this.#operation.caller.holder);
  }
}
