import type { ResponseControl, ResponseSink, Upstream, UpstreamRequest } from '../upstream.ts';

/** One exchange that the adapter has started with the fake upstream; the test answers it step by step. */
export class FakeExchange implements ResponseControl {
  readonly request: UpstreamRequest;
  readonly #sink: ResponseSink;
  pauses = 0;
  resumes = 0;
  aborted = false;

  constructor(request: UpstreamRequest, sink: ResponseSink) {
    this.request = request;
    this.#sink = sink;
  }

  get paused(): boolean {
    return this.pauses > this.resumes;
  }

  pause(): void {
    this.pauses++;
  }

  resume(): void {
    this.resumes++;
  }

  abort(): void {
    this.aborted = true;
  }

  head(status: number, headers: Record<string, string> = {}, upstreamSessionId: string | null = null): this {
    if (!this.aborted) this.#sink.onHead({ status, headers, upstreamSessionId });
    return this;
  }

  json(status = 200, headers: Record<string, string> = {}): this {
    return this.head(status, { 'content-type': 'application/json', ...headers });
  }

  eventStream(headers: Record<string, string> = {}): this {
    return this.head(200, { 'content-type': 'text/event-stream', ...headers });
  }

  data(chunk: string | Buffer): this {
    if (!this.aborted) this.#sink.onData(Buffer.from(chunk));
    return this;
  }

  end(): void {
    if (!this.aborted) this.#sink.onEnd();
  }

  fail(sent: boolean, error: Error = new Error('the connection broke')): void {
    if (!this.aborted) this.#sink.onError(error, sent);
  }
}

/** An upstream that does nothing by itself. Like a real one it is silent after an abort. */
export class FakeUpstream implements Upstream {
  readonly modern = true;
  readonly exchanges: FakeExchange[] = [];

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const exchange = new FakeExchange(request, sink);
    this.exchanges.push(exchange);
    sink.onStart(exchange);
  }

  /** The exchange that was started last. */
  get last(): FakeExchange {
    const last = this.exchanges.at(-1);
    if (last === undefined) throw new Error('nothing was sent upstream');
    return last;
  }

  knowsEvent(): boolean {
    return true;
  }

  async endSession(): Promise<void> {}
  async close(): Promise<void> {}
}
