import { FrameSplitter } from '../../../exchange/scanning/sse-frames.ts';
import { isEventStream } from '../../../exchange/headers.ts';
import type { ResponseControl, ResponseHead, ResponseSink } from '../../../exchange/upstream.ts';

/** What a client of the bridge gets, as it comes. */
export class ClientSink implements ResponseSink {
  control: ResponseControl | undefined;
  head: ResponseHead | undefined;
  readonly #splitter = new FrameSplitter();
  /** JSON texts, of a body or of the frames of a stream. */
  readonly texts: string[] = [];
  ended = false;
  failure: { readonly error: Error; readonly sent: boolean } | undefined;
  #onChange = Promise.withResolvers<void>();

  onStart(control: ResponseControl): void {
    this.control = control;
  }

  onHead(head: ResponseHead): void {
    this.head = head;
    this.#changed();
  }

  onData(chunk: Buffer): void {
    if (this.head !== undefined && isEventStream(this.head)) {
      for (const { data } of this.#splitter.push(chunk)) if (data !== undefined) this.texts.push(data);
    } else this.texts.push(chunk.toString('utf8'));
    this.#changed();
  }

  onEnd(): void {
    this.ended = true;
    this.#changed();
  }

  onError(error: Error, sent: boolean): void {
    this.failure = { error, sent };
    this.#changed();
  }

  get messages(): Record<string, unknown>[] {
    return this.texts.map((text) => JSON.parse(text) as Record<string, unknown>);
  }

  /** Resolves when it is so. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.#onChange.promise;
  }

  /** Resolves at the end of the exchange. */
  async over(): Promise<this> {
    await this.until(() => this.ended || this.failure !== undefined);
    return this;
  }

  /** Resolves with the first message of this method. */
  async message(method: string): Promise<{ readonly id: string; readonly params: Record<string, unknown> }> {
    const find = (): unknown => this.messages.find((one) => one['method'] === method);
    await this.until(() => find() !== undefined);
    return find() as { readonly id: string; readonly params: Record<string, unknown> };
  }

  #changed(): void {
    const { resolve } = this.#onChange;
    this.#onChange = Promise.withResolvers();
    resolve();
  }
}
