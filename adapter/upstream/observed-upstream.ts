import { AnswerWatch, type Failure, type RecordedAnswers } from '../exchange/answer-watch.ts';
import type {
  ResponseControl,
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamRequest,
  UpstreamSession,
} from '../exchange/upstream.ts';
import { isEventStream } from '../exchange/headers.ts';

/** The end of a request to an upstream. */
export interface UpstreamCall {
  /** Method of the JSON-RPC message; '' for a request without one. */
  readonly method: string;
  readonly seconds: number;
  /** What the answer says went wrong, its HTTP status from 400 on, or one of our error codes. */
  readonly errorType: Failure | 'upstream_timeout' | 'upstream_failed' | 'upstream_unreachable' | undefined;
  readonly protocolVersion: string | undefined;
}

/** An upstream of which each request is told when it is over. For requests of the adapter's own, which are few. */
export class ObservedUpstream implements Upstream {
  readonly #inner: Upstream;
  readonly #onCall: (call: UpstreamCall) => void;

  constructor(inner: Upstream, onCall: (call: UpstreamCall) => void) {
    this.#inner = inner;
    this.#onCall = onCall;
  }

  get modern(): boolean {
    return this.#inner.modern;
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    this.#inner.send(request, new ObservedSink(request, sink, this.#onCall));
  }

  knowsEvent(eventId: string, session: UpstreamSession): boolean {
    return this.#inner.knowsEvent(eventId, session);
  }

  endSession(session: UpstreamSession, headers: readonly string[], timeoutMs: number): Promise<void> {
    return this.#inner.endSession(session, headers, timeoutMs);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

class ObservedSink implements ResponseSink {
  readonly #request: UpstreamRequest;
  readonly #sink: ResponseSink;
  readonly #onCall: (call: UpstreamCall) => void;
  readonly #started = performance.now();
  readonly #recorded: RecordedAnswers = {};
  #watch: AnswerWatch | undefined;
  #status = 0;
  #isAnswered = false;
  #isRecorded = false;

  constructor(request: UpstreamRequest, sink: ResponseSink, onCall: (call: UpstreamCall) => void) {
    this.#request = request;
    this.#sink = sink;
    this.#onCall = onCall;
  }

  onStart(control: ResponseControl): void {
    this.#sink.onStart({
      pause: () => control.pause(),
      resume: () => control.resume(),
      abort: () => {
        control.abort();
        // Who has its answer needs no more of an event stream; who has none has waited long enough.
        this.#record(this.#isAnswered ? undefined : 'upstream_timeout');
      },
    });
  }

  onHead(head: ResponseHead): void {
    this.#status = head.status;
    this.#watch = new AnswerWatch(this.#recorded, isEventStream(head));
    this.#sink.onHead(head);
  }

  onData(chunk: Buffer): void {
    this.#isAnswered = true;
    this.#watch?.sees(chunk);
    this.#sink.onData(chunk);
  }

  onEnd(): void {
    this.#record(undefined);
    this.#sink.onEnd();
  }

  onError(error: Error, sent: boolean): void {
    this.#record(sent ? 'upstream_failed' : 'upstream_unreachable');
    this.#sink.onError(error, sent);
  }

  #record(failure: UpstreamCall['errorType']): void {
    if (this.#isRecorded) return;
    this.#isRecorded = true;
    this.#watch?.end();
    const { body, headers } = this.#request;
    const message = body?.messages[0];
    const version = headers.indexOf('mcp-protocol-version');
    this.#onCall({
      method: message === undefined || message.kind === 'response' ? '' : message.method,
      seconds: (performance.now() - this.#started) / 1000,
      errorType: failure ?? (this.#status >= 400 ? this.#status : this.#recorded.failure),
      protocolVersion: version === -1 ? undefined : headers[version + 1],
    });
  }
}
