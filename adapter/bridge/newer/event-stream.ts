import { EarlyControl } from '../../exchange/early-control.ts';
import { isEventStream } from '../../exchange/headers.ts';
import { FrameSplitter } from '../../exchange/scanning/sse-frames.ts';
import type { ResponseControl, ResponseHead, ResponseSink, Upstream } from '../../exchange/upstream.ts';
import type { CallSession } from './call-session.ts';

/** The event stream of a session, message by message. */
export class EventStream implements ResponseSink {
  readonly #onMessage: (text: string) => void;
  readonly #splitter = new FrameSplitter();
  readonly #begun = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<{ readonly lastEventId: string | undefined }>();
  readonly #control = new EarlyControl();
  #isOver = false;
  #lastEventId: string | undefined;
  #status = 0;

  constructor(onMessage: (text: string) => void) {
    this.#onMessage = onMessage;
  }

  /** Whether there is such a stream. */
  get begun(): Promise<boolean> {
    return this.#begun.promise;
  }

  /** HTTP status of its head; 0 while there is none. */
  get status(): number {
    return this.#status;
  }

  get ended(): Promise<{ readonly lastEventId: string | undefined }> {
    return this.#ended.promise;
  }

  pause(): void {
    this.#control.pause();
  }

  resume(): void {
    this.#control.resume();
  }

  abort(): void {
    this.#control.abort();
    this.#end();
  }

  onStart(control: ResponseControl): void {
    this.#control.started(control);
  }

  onHead(head: ResponseHead): void {
    this.#status = head.status;
    if (head.status < 300 && isEventStream(head)) this.#begun.resolve(true);
    else this.abort();
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      for (const { data, id } of this.#splitter.push(chunk)) {
        this.#lastEventId = id ?? this.#lastEventId;
        if (data !== undefined && data !== '') this.#onMessage(data);
      }
    } catch {
      this.abort();
    }
  }

  onEnd(): void {
    this.#end();
  }

  onError(): void {
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#begun.resolve(false);
    this.#ended.resolve({ lastEventId: this.#lastEventId });
  }
}

/** From where on it is heard, and whether at once. */
export interface StreamStart {
  readonly lastEventId: string | undefined;
  readonly isPaused: boolean;
}

/** Opens the event stream of a session; `onMessage` takes JSON texts. */
export function openEventStream(
  upstream: Upstream,
  { session, headers }: Pick<CallSession, 'session' | 'headers'>,
  onMessage: (text: string) => void,
  { lastEventId, isPaused }: StreamStart,
): EventStream {
  const stream = new EventStream(onMessage);
  if (isPaused) stream.pause();
  upstream.send({ method: 'GET', session, headers: streamHeaders(headers), body: undefined, lastEventId }, stream);
  return stream;
}

/** Headers of a POST as those of a GET. */
export function streamHeaders(headers: readonly string[]): string[] {
  const out: string[] = ['accept', 'text/event-stream'];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    const lower = name.toLowerCase();
    if (lower !== 'accept' && lower !== 'content-type') out.push(name, value);
  }
  return out;
}
