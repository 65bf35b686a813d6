import type { ResponseControl, ResponseHead, ResponseSink, UpstreamRequest } from '../../exchange/upstream.ts';
import type { OlderClients } from './older-clients.ts';

const METHOD_NOT_ALLOWED = 405;

/**
 * The answer to a GET in a session. A server that speaks the revision without sessions only has no such streams, as others
 * have none that know sessions; of that one the session is lost.
 */
export class LostToNewer implements ResponseSink, ResponseControl {
  readonly #request: UpstreamRequest;
  readonly #sink: ResponseSink;
  readonly #older: Pick<OlderClients, 'discover'>;
  #control: ResponseControl | undefined;
  #isOver = false;
  /** Its answer is made here. */
  #isRefused = false;

  constructor(request: UpstreamRequest, sink: ResponseSink, older: Pick<OlderClients, 'discover'>) {
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
    if (head.status !== METHOD_NOT_ALLOWED) return this.#sink.onHead(head);
    this.#isRefused = true;
    this.#control?.abort();
    this.#older.discover(this.#request.headers).then(
      (discovery) => this.#end(discovery === undefined ? head : { ...head, status: 404 }),
      () => this.#end(head),
    );
  }

  onData(chunk: Buffer): void {
    if (!this.#isRefused) this.#sink.onData(chunk);
  }

  onEnd(): void {
    if (!this.#isRefused) this.#sink.onEnd();
  }

  onError(error: Error, sent: boolean): void {
    if (!this.#isRefused) this.#sink.onError(error, sent);
  }

  #end(head: ResponseHead): void {
    if (this.#isOver) return;
    this.#sink.onHead(head);
    // What a 405 says beside its head is for nobody.
    if (!this.#isOver) this.#sink.onEnd();
  }
}
