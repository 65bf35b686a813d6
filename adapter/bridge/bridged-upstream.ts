import { KeptParts } from '../../lib/stream/kept-parts.ts';
import { isEventStream } from '../exchange/headers.ts';
import type {
  ResponseControl,
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamRequest,
  UpstreamSession,
} from '../exchange/upstream.ts';
import { INSPECTED_BYTES } from '../limits.ts';
import { isBridged } from './bridged-session.ts';
import type { OlderClients } from './older-clients.ts';

/** Refusals of a client, or of this moment, that say nothing of revisions. */
const NO_EVIDENCE = new Set([401, 403, 408, 425, 429]);

/**
 * An upstream that clients reach whichever protocol revision they speak: one that refuses `initialize` and answers
 * `server/discover` gets what clients in sessions say in its own revision. Everything else passes as it is.
 */
export class BridgedUpstream implements Upstream {
  readonly #inner: Upstream;
  readonly #older: OlderClients;

  constructor(inner: Upstream, older: OlderClients) {
    this.#inner = inner;
    this.#older = older;
  }

  get modern(): boolean {
    return this.#inner.modern;
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const { session } = request;
    if (session === undefined) this.#inner.send(request, sink);
    else if (isBridged(session)) this.#older.send(request, sink);
    else if (session.upstreamSessionId === undefined && request.method === 'POST') {
      this.#inner.send(request, new Opening(request, sink, this.#older));
    } else this.#inner.send(request, sink);
  }

  async endSession(session: UpstreamSession, headers: readonly string[], timeoutMs: number): Promise<void> {
    if (!isBridged(session)) await this.#inner.endSession(session, headers, timeoutMs);
  }

  knowsEvent(eventId: string, session: UpstreamSession): boolean {
    return !isBridged(session) && this.#inner.knowsEvent(eventId, session);
  }

  async close(): Promise<void> {
    this.#older.close();
    await this.#inner.close();
  }
}

/** Sees whether `initialize` is refused by a server that knows the newer revision only. */
class Opening implements ResponseSink, ResponseControl {
  readonly #request: UpstreamRequest;
  readonly #sink: ResponseSink;
  readonly #older: OlderClients;
  #control: ResponseControl | undefined;
  #head: ResponseHead | undefined;
  readonly #parts = new KeptParts();
  #passes = false;
  #isOver = false;

  constructor(request: UpstreamRequest, sink: ResponseSink, older: OlderClients) {
    this.#request = request;
    this.#sink = sink;
    this.#older = older;
  }

  pause(): void {
    this.#control?.pause();
  }

  resume(): void {
    this.#control?.resume();
  }

  abort(): void {
    this.#isOver = true;
    this.#control?.abort();
  }

  onStart(control: ResponseControl): void {
    this.#control = control;
    this.#sink.onStart(this);
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    const { status } = head;
    const mayRefuse = status < 500 && !NO_EVIDENCE.has(status) && !(status < 300 && isEventStream(head));
    if (!mayRefuse) this.#pass(head);
  }

  onData(chunk: Buffer): void {
    if (this.#passes) return this.#sink.onData(chunk);
    this.#parts.push(chunk);
    if (this.#parts.size > INSPECTED_BYTES) this.#pass(this.#head as ResponseHead);
  }

  onEnd(): void {
    if (this.#passes) return this.#sink.onEnd();
    const head = this.#head as ResponseHead;
    if (head.status < 300 && !isError(this.#parts.whole().toString('utf8'))) return this.#passWhole(head);
    this.#older.discover(this.#request.headers).then(
      (discovery) => {
        if (this.#isOver) return;
        if (discovery === undefined) this.#passWhole(head);
        else this.#older.greet(this.#request, this.#sink, discovery);
      },
      () => {
        if (!this.#isOver) this.#passWhole(head);
      },
    );
  }

  onError(error: Error, sent: boolean): void {
    this.#sink.onError(error, sent);
  }

  #pass(head: ResponseHead): void {
    this.#passes = true;
    this.#sink.onHead(head);
    for (const part of this.#parts.all) this.#sink.onData(part);
    this.#parts.clear();
  }

  #passWhole(head: ResponseHead): void {
    this.#pass(head);
    this.#sink.onEnd();
  }
}

function isError(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'error' in value;
  } catch {
    return false;
  }
}
