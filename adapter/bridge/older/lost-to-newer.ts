import { PassedResponse } from '../../exchange/passed-response.ts';
import type { ResponseHead, ResponseSink, UpstreamRequest } from '../../exchange/upstream.ts';
import type { OlderClients } from './older-clients.ts';

const METHOD_NOT_ALLOWED = 405;

/**
 * The answer to a GET in a session. A server that speaks the revision without sessions only has no such streams, as others
 * have none that know sessions; of that one the session is lost.
 */
export class LostToNewer extends PassedResponse {
  readonly #request: UpstreamRequest;
  readonly #older: Pick<OlderClients, 'discover'>;
  #isOver = false;
  /** Its answer is made here. */
  #isRefused = false;

  constructor(request: UpstreamRequest, sink: ResponseSink, older: Pick<OlderClients, 'discover'>) {
    super(sink);
    this.#request = request;
    this.#older = older;
  }

  override abort(): void {
    this.#isOver = true;
    this.control?.abort();
  }

  override onHead(head: ResponseHead): void {
    if (head.status !== METHOD_NOT_ALLOWED) return this.next.onHead(head);
    this.#isRefused = true;
    this.control?.abort();
    this.#older.discover(this.#request.headers).then(
      (discovery) => this.#end(discovery === undefined ? head : { ...head, status: 404 }),
      () => this.#end(head),
    );
  }

  override onData(chunk: Buffer): void {
    if (!this.#isRefused) this.next.onData(chunk);
  }

  override onEnd(): void {
    if (!this.#isRefused) this.next.onEnd();
  }

  override onError(error: Error, sent: boolean): void {
    if (!this.#isRefused) this.next.onError(error, sent);
  }

  #end(head: ResponseHead): void {
    if (this.#isOver) return;
    this.next.onHead(head);
    // What a 405 says beside its head is for nobody.
    if (!this.#isOver) this.next.onEnd();
  }
}
