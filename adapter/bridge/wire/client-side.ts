import type { ResponseHead, ResponseSink } from '../../exchange/upstream.ts';
import { messageFrame } from '../../exchange/scanning/sse-frames.ts';

const JSON_HEAD: ResponseHead = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  upstreamSessionId: null,
};
const STREAM_HEAD: ResponseHead = {
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  upstreamSessionId: null,
};
/** How an answer looks from which a session is known to be lost. */
const LOST: ResponseHead = { status: 404, headers: {}, upstreamSessionId: null };
const ACCEPTED: ResponseHead = { status: 202, headers: {}, upstreamSessionId: null };

/**
 * What the client's side of an exchange hears: one body where a single response is all, and an event stream as soon as there
 * is more to say.
 */
export class ClientSide {
  readonly #sink: ResponseSink;
  readonly #responses: number;
  /** Responses to come. */
  #left: number;
  #isStream = false;
  #isOver = false;

  constructor(sink: ResponseSink, responses: number) {
    this.#sink = sink;
    this.#responses = responses;
    this.#left = responses;
  }

  /** Nothing is said any more. */
  leave(): void {
    this.#isOver = true;
  }

  accepted(): void {
    this.#whole(ACCEPTED, undefined);
  }

  /** A notification or a request (JSON text). */
  message(text: string): void {
    if (this.#isOver) return;
    this.#begin();
    this.#sink.onData(Buffer.from(messageFrame(text)));
  }

  /** A response (JSON text), with the status that it has where it is all that there is. */
  response(text: string, status = 200): void {
    if (this.#isOver) return;
    this.#left -= 1;
    if (!this.#isStream && this.#left === 0) return this.#whole({ ...JSON_HEAD, status }, Buffer.from(text));
    this.#begin();
    this.#sink.onData(Buffer.from(messageFrame(text)));
    if (this.#left > 0) return;
    this.#isOver = true;
    this.#sink.onEnd();
  }

  /** One of the responses does not come, as nobody waits for it any more. */
  unanswered(): void {
    if (this.#isOver) return;
    this.#left -= 1;
    if (this.#left === 0) this.end();
  }

  /** Ends the stream, which may have nothing in it. */
  end(): void {
    if (this.#isOver) return;
    this.#begin();
    this.#isOver = true;
    this.#sink.onEnd();
  }

  /** Whether an answer that is no message can still be all that the client hears. */
  get isUnsaid(): boolean {
    return !this.#isStream && this.#responses === 1;
  }

  /** Whether it waits for several responses. */
  get isBatch(): boolean {
    return this.#responses > 1;
  }

  /** What the server has answered instead of messages; where a stream has begun, it breaks off. */
  refused(head: ResponseHead, body: Buffer): void {
    if (this.isUnsaid) this.#whole({ ...head, upstreamSessionId: null }, body);
    else this.failed(new Error(`the upstream server answered with HTTP ${head.status}`), true);
  }

  /** The server has no session of the newer revision any more: what looks for lost ones opens another. */
  lost(): void {
    this.refused(LOST, Buffer.alloc(0));
  }

  failed(error: Error, sent: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.onError(error, sent);
  }

  /** Begins the stream, though there is nothing to say yet. */
  open(): void {
    if (!this.#isOver) this.#begin();
  }

  #begin(): void {
    if (this.#isStream) return;
    this.#isStream = true;
    this.#sink.onHead(STREAM_HEAD);
  }

  #whole(head: ResponseHead, body: Buffer | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.onHead(head);
    if (body !== undefined && body.length > 0) this.#sink.onData(body);
    this.#sink.onEnd();
  }
}
