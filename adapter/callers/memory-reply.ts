import { type AdapterError } from '../errors.ts';
import { type StreamedAnswer, wholeText } from '../exchange/answers/answer.ts';
import { type Ending, OK } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply, ReplyControl } from '../path/reply.ts';
import type { ReplyMessage } from '../path/reply-message.ts';
import { errorText } from './error-text.ts';

export interface MemoryReplyDeps {
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Of the JSON text of a result. */
  readonly maxChars: number;
  /** What the server says or asks meanwhile (JSON text). */
  readonly onOther: (text: string) => void;
  /** Any failure as the error to answer with. */
  readonly known: (error: unknown) => AdapterError;
}

/** The reply to a request that the adapter itself has made: its response message, in memory. */
export class MemoryReply implements Reply {
  readonly reads = true;
  readonly signal: AbortSignal;
  /** JSON text of the response message, which may be an error. Rejects when there is none. */
  readonly response: Promise<string>;
  readonly #operation: Operation;
  readonly #parts: MemoryReplyDeps;
  readonly #resolve: (text: string) => void;
  readonly #reject: (error: unknown) => void;
  readonly #afterwards: (() => void)[] = [];
  #control: ReplyControl | undefined;
  #text: string | undefined;
  #isOver = false;

  constructor(operation: Operation, parts: MemoryReplyDeps) {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.response = promise;
    this.signal = parts.signal;
    this.#operation = operation;
    this.#parts = parts;
    this.#resolve = resolve;
    this.#reject = reject;
    this.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get isGone(): boolean {
    return this.signal.aborted;
  }

  afterwards(run: () => void): void {
    if (this.#isOver) run();
    else this.#afterwards.push(run);
  }

  start(control: ReplyControl): void {
    this.#control = control;
    if (this.isGone) this.#onAbort();
  }

  head(): void {}

  message(message: ReplyMessage): Promise<void> | undefined {
    const { kind, streamed } = message;
    if (this.#isOver) return undefined;
    // An opaque one is an error that names no request; it says why there is no response.
    if (kind === 'unsolicited' || kind === 'other') {
      if (kind === 'other' && message.body !== '') this.#parts.onOther(message.text());
      return undefined;
    }
    if (streamed !== undefined) return this.#collect(streamed);
    this.#keep(message.text());
    return undefined;
  }

  data(): undefined {}

  end(ending: Ending): undefined {
    if (this.#isOver) return;
    this.#isOver = true;
    this.signal.removeEventListener('abort', this.#onAbort);
    const { attributes } = this.#operation.caller;
    attributes.outcome = ending.outcome;
    if (this.#text !== undefined) this.#resolve(this.#text);
    else if (ending.text !== undefined) this.#resolve(ending.text);
    else if (ending.error === undefined) this.#reject(new Error('The call has ended without a result.'));
    else {
      const known = this.#parts.known(ending.error);
      if (attributes.outcome === 'internal') attributes.outcome = known.code;
      this.#resolve(errorText(known, this.#operation.idTexts));
    }
    for (const run of this.#afterwards) run();
  }

  #keep(text: string): void {
    if (text.length > this.#parts.maxChars) return this.#refuse();
    this.#text = text;
    // The upstream may keep the stream open behind its answer.
    queueMicrotask(() => this.#control?.abort(OK));
  }

  async #collect(answer: StreamedAnswer): Promise<void> {
    const text = await wholeText(answer, this.#parts.maxChars);
    if (text === undefined) this.#refuse();
    else this.#keep(text);
  }

  /** It is more than whoever made the request can take. */
  #refuse(): void {
    const error = new Error(`The result is larger than ${this.#parts.maxChars >> 20} MiB.`);
    this.#reject(error);
    queueMicrotask(() => this.#control?.abort({ outcome: 'client_closed', error }));
  }

  readonly #onAbort = (): void => {
    this.#reject(this.signal.reason);
    this.#control?.abort({ outcome: 'client_closed', error: this.signal.reason });
  };
}
