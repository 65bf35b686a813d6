import { type Span, SpanStatusCode } from '@opentelemetry/api';

import { AnswerWatch, type RecordedAnswers } from '../../exchange/answer-watch.ts';
import { PassedResponse } from '../../exchange/passed-response.ts';
import type { ResponseHead, ResponseSink } from '../../exchange/upstream.ts';
import { isEventStream } from '../../exchange/headers.ts';

/** One of them stands in every response of JSON-RPC. */
const RESULT = Buffer.from('"result"');
const ERROR = Buffer.from('"error"');

/**
 * Ends a span with the answer of an upstream: when that is complete, has failed, or is given up. Bytes are looked at, and pass
 * as they are.
 */
export class SpannedResponse extends PassedResponse {
  readonly #span: Span;
  /** A stream that the client opened: it says nothing of how a request went. */
  readonly #isStream: boolean;
  readonly #recorded: RecordedAnswers = {};
  #watch: AnswerWatch | undefined;
  #status = 0;
  #isAnswered = false;
  #isEnded = false;

  constructor(span: Span, sink: ResponseSink, isStream: boolean) {
    super(sink);
    this.#span = span;
    this.#isStream = isStream;
  }

  /** Who has its answer often needs no more of a stream. */
  override abort(): void {
    this.#end(this.#isAnswered || this.#isStream ? undefined : 'cancelled');
    this.control?.abort();
  }

  override onHead(head: ResponseHead): void {
    this.#status = head.status;
    if (!this.#isStream) {
      this.#watch = new AnswerWatch(this.#recorded, isEventStream(head));
    }
    this.next.onHead(head);
  }

  override onData(chunk: Buffer): void {
    if (this.#watch !== undefined) {
      this.#isAnswered ||= chunk.includes(RESULT) || chunk.includes(ERROR);
      this.#watch.sees(chunk);
    }
    this.next.onData(chunk);
  }

  override onEnd(): void {
    this.#end(undefined);
    this.next.onEnd();
  }

  override onError(error: Error, sent: boolean): void {
    this.#end(failureType(error));
    this.next.onError(error, sent);
  }

  #end(failure: string | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#watch?.end();
    const { failure: said } = this.#recorded;
    if (this.#status > 0) this.#span.setAttribute('http.response.status_code', this.#status);
    if (typeof said === 'number') this.#span.setAttribute('rpc.response.status_code', String(said));
    endSpan(this.#span, said === undefined ? (statusError(this.#status) ?? failure) : String(said));
  }
}

const statusError = (status: number): string | undefined => (status >= 400 ? String(status) : undefined);

/** What kind of failure it is: its words may say anything. */
export function failureType(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : (name ?? '_OTHER');
}

/** Ends a span, as failed where there is a kind of failure. */
export function endSpan(span: Span, failure: string | undefined, at?: number): void {
  if (failure !== undefined) {
    span.setAttribute('error.type', failure);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(at);
}
