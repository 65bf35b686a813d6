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
import { PassedResponse } from '../exchange/passed-response.ts';
import { INSPECTED_BYTES } from '../limits.ts';
import type { RevisionProbe } from '../upstream/revision-probe.ts';
import { positionOf } from './newer/caller-sessions.ts';
import { isBridged } from './wire/bridged-session.ts';
import type { NewerClients } from './newer/newer-clients.ts';
import { credentialHeaders, credentialKey } from './wire/newer-request.ts';
import { saysNothing } from '../upstream/revision-probe.ts';
import { LostToNewer } from './older/lost-to-newer.ts';
import type { OlderClients } from './older/older-clients.ts';

/**
 * An upstream that clients reach whichever protocol revision they speak: one that refuses `initialize` and answers
 * `server/discover` gets what clients in sessions say in its own revision. Everything else passes as it is.
 */
export class BridgedUpstream implements Upstream {
  readonly #inner: Upstream;
  readonly #older: OlderClients;
  readonly #newer: NewerClients;
  readonly #revisions: RevisionProbe;

  /** @param revisions what the upstream speaks, asked past the bridge */
  constructor(inner: Upstream, revisions: RevisionProbe, older: OlderClients, newer: NewerClients) {
    this.#inner = inner;
    this.#older = older;
    this.#newer = newer;
    this.#revisions = revisions;
  }

  get modern(): boolean {
    return this.#inner.modern;
  }

  send(request: UpstreamRequest, sink: ResponseSink): void {
    const { session } = request;
    if (session === undefined) this.#sendSessionless(request, sink);
    else if (isBridged(session)) this.#older.send(request, sink);
    else if (session.upstreamSessionId === undefined && request.method === 'POST') {
      this.#inner.send(request, new Opening(request, sink, this.#older));
    } else if (request.method === 'GET') this.#inner.send(request, new LostToNewer(request, sink, this.#older));
    else this.#inner.send(request, sink);
  }

  #sendSessionless(request: UpstreamRequest, sink: ResponseSink): void {
    if (request.isBridged === true) return this.#newer.send(request, sink);
    if (request.isBridged === false || this.#revisions.speaksNewest) return this.#inner.send(request, sink);
    const waiting = new Waiting(sink);
    const headers = credentialHeaders(request.headers);
    this.#revisions.of(credentialKey(headers), headers).then(
      (family) => {
        const isOlder = family === 'legacy' || family === 'declined';
        waiting.start((started) => (isOlder ? this.#newer : this.#inner).send(request, started));
      },
      (error: unknown) => waiting.failed(error as Error),
    );
  }

  async endSession(session: UpstreamSession, headers: readonly string[], timeoutMs: number): Promise<void> {
    if (isBridged(session)) return;
    const kept = positionOf(session);
    if (kept === undefined) return this.#inner.endSession(session, headers, timeoutMs);
    const own = { ...session, upstreamSessionId: kept.upstreamSessionId };
    await this.#inner.endSession(own, [...headers, 'mcp-protocol-version', kept.protocolVersion], timeoutMs);
  }

  knowsEvent(eventId: string, session: UpstreamSession): boolean {
    return !isBridged(session) && this.#inner.knowsEvent(eventId, session);
  }

  async close(): Promise<void> {
    this.#older.close();
    this.#newer.close();
    await this.#inner.close();
  }
}

/** Sees whether `initialize` is refused by a server that knows the newer revision only. */
class Opening extends PassedResponse {
  readonly #request: UpstreamRequest;
  readonly #older: OlderClients;
  #head: ResponseHead | undefined;
  readonly #parts = new KeptParts();
  #passes = false;
  #isOver = false;

  constructor(request: UpstreamRequest, sink: ResponseSink, older: OlderClients) {
    super(sink);
    this.#request = request;
    this.#older = older;
  }

  override abort(): void {
    this.#isOver = true;
    this.control?.abort();
  }

  override onHead(head: ResponseHead): void {
    this.#head = head;
    const { status } = head;
    const mayRefuse = !saysNothing(status) && !(status < 300 && isEventStream(head));
    if (!mayRefuse) this.#pass(head);
  }

  override onData(chunk: Buffer): void {
    if (this.#passes) return this.next.onData(chunk);
    this.#parts.push(chunk);
    if (this.#parts.size > INSPECTED_BYTES) this.#pass(this.#head as ResponseHead);
  }

  override onEnd(): void {
    if (this.#passes) return this.next.onEnd();
    const head = this.#head as ResponseHead;
    if (head.status < 300 && !isError(this.#parts.whole().toString('utf8'))) return this.#passWhole(head);
    this.#older.discover(this.#request.headers).then(
      (discovery) => {
        if (this.#isOver) return;
        if (discovery === undefined) this.#passWhole(head);
        else this.#older.initialize(this.#request, this.next, discovery);
      },
      () => {
        if (!this.#isOver) this.#passWhole(head);
      },
    );
  }

  #pass(head: ResponseHead): void {
    this.#passes = true;
    this.next.onHead(head);
    for (const part of this.#parts.all) this.next.onData(part);
    this.#parts.clear();
  }

  #passWhole(head: ResponseHead): void {
    this.#pass(head);
    this.next.onEnd();
  }
}

/** An exchange that begins later. */
class Waiting extends PassedResponse {
  #isPaused = false;
  #isOver = false;

  constructor(sink: ResponseSink) {
    super(sink);
    sink.onStart(this);
  }

  start(send: (sink: ResponseSink) => void): void {
    if (!this.#isOver) send(this);
  }

  failed(error: Error): void {
    if (!this.#isOver) this.next.onError(error, false);
  }

  override pause(): void {
    this.#isPaused = true;
    super.pause();
  }

  override resume(): void {
    this.#isPaused = false;
    super.resume();
  }

  override abort(): void {
    this.#isOver = true;
    super.abort();
  }

  override onStart(control: ResponseControl): void {
    this.control = control;
    if (this.#isPaused) control.pause();
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
