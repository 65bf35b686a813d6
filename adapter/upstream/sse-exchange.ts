import { randomUUID } from 'node:crypto';

import type { ResponseHead, ResponseSink } from '../exchange/upstream.ts';
import { MAX_HELD_CHARS, MAX_HELD_FRAMES, LOG_BYTES } from '../limits.ts';

/** The client's side of one exchange: keeps the order head, data, end, waits for a slow client, and cleans up once. */
export class SseExchange {
  readonly id = randomUUID();
  /** The head that a POST gets once the upstream has accepted it. Undefined for a GET, whose log has bounds of its own. */
  accepted: ResponseHead | undefined;
  readonly #sink: ResponseSink;
  readonly #cleanups: (() => Promise<void>)[] = [];
  readonly #abort = new AbortController();
  /** What came before the head, or while the client is slow. */
  #held: string[] = [];
  #heldChars = 0;
  #paused = false;
  #begun = false;
  #ending = false;
  #done = false;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#flush();
  }

  abort(): void {
    this.#finish();
  }

  begin(head: ResponseHead): void {
    if (this.#done || this.#begun) return;
    this.#begun = true;
    this.#sink.onHead(head);
    this.#flush();
  }

  data(text: string, isAnswer: boolean): void {
    if (this.#done || this.#ending) return;
    if (this.accepted !== undefined && !this.#begun && this.#isTooMuch(text)) {
      // Who answers a request has accepted it.
      if (isAnswer) this.begin(this.accepted);
      else return this.fail(new Error('the upstream server sends messages and no head'), true);
    }
    // The log has no more than that either; what it has, a client that comes back finds there.
    if (this.#paused && this.#heldChars >= LOG_BYTES) return this.#close();
    this.#held.push(text);
    this.#heldChars += text.length;
    this.#flush();
  }

  #isTooMuch(text: string): boolean {
    return this.#held.length >= MAX_HELD_FRAMES || this.#heldChars + text.length > MAX_HELD_CHARS;
  }

  end(): void {
    this.#ending = true;
    this.#flush();
  }

  #flush(): void {
    while (this.#begun && !this.#paused && !this.#done) {
      const text = this.#held.shift();
      if (text === undefined) {
        if (this.#ending) this.#close();
        return;
      }
      this.#heldChars -= text.length;
      this.#sink.onData(Buffer.from(text));
    }
  }

  #close(): void {
    this.#finish();
    this.#sink.onEnd();
  }

  refuse(status: number): void {
    if (this.#begun) return this.fail(new Error(`the upstream server answered, and then refused: ${status}`), true);
    if (this.#done) return;
    this.#finish();
    this.#sink.onHead({ status, headers: {}, upstreamSessionId: null });
    this.#sink.onEnd();
  }

  fail(error: Error, sent: boolean): void {
    if (this.#done) return;
    this.#finish();
    this.#sink.onError(error, sent);
  }

  onEnd(cleanup: () => Promise<void>): void {
    if (this.#done) cleanup().catch(expires);
    else this.#cleanups.push(cleanup);
  }

  #finish(): void {
    this.#done = true;
    this.#held = [];
    this.#abort.abort();
    for (const cleanup of this.#cleanups.splice(0)) cleanup().catch(expires);
  }
}

function expires(): void {
  // Leases and logs do so by themselves.
}
