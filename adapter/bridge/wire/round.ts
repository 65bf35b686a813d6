import { isObject } from '../../../lib/json/json-object.ts';
import { ANSWER_LIMITS, JsonLimitError, parseJson } from '../../../lib/json/json-limits.ts';
import { KeptParts } from '../../../lib/stream/kept-parts.ts';
import type { ByteShare, Holder } from '../../byte-account.ts';
import { answersOverloaded } from '../../errors.ts';
import { EarlyControl } from '../../exchange/early-control.ts';
import { isEventStream } from '../../exchange/headers.ts';
import { isId } from '../../exchange/message.ts';
import { FrameSplitter } from '../../exchange/scanning/sse-frames.ts';
import type {
  ResponseControl,
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamRequest,
} from '../../exchange/upstream.ts';
import { MAX_ANSWER_BYTES, UNCOUNTED_BYTES } from '../../limits.ts';

/** The end of one request to a server without sessions. */
export interface RoundAnswer {
  readonly head: ResponseHead;
  /** JSON text of the response, with an id as the server writes it, or none in a refusal; undefined where there was none. */
  readonly text: string | undefined;
  /** What came instead. */
  readonly body: Buffer;
}

/** The exchange failed; `sent` as in ResponseSink. */
export class RoundFailed extends Error {
  readonly sent: boolean;
  constructor(cause: Error, sent: boolean) {
    super(cause.message, { cause });
    this.sent = sent;
  }
}

/** One request on its way to a server, and what the server says until it has answered. Other responses are dropped. */
export class Round implements ResponseSink {
  readonly #idText: string;
  readonly #onMessage: (text: string, isRequest: boolean) => void;
  readonly #holder: Holder | undefined;
  readonly #answer = Promise.withResolvers<RoundAnswer>();
  readonly #control = new EarlyControl();
  #isOver = false;
  #head: ResponseHead | undefined;
  #splitter: FrameSplitter | undefined;
  readonly #parts = new KeptParts();
  #share: ByteShare | undefined;
  /** Where the server's stream can be taken up again; undefined: nowhere. */
  lastEventId: string | undefined;
  /** How long the server wants to be left alone before that, in milliseconds. */
  retryMs: number | undefined;

  /** @param onMessage takes notifications and requests (JSON texts) */
  constructor(idText: string, holder: Holder | undefined, onMessage: (text: string, isRequest: boolean) => void) {
    this.#idText = idText;
    this.#holder = holder;
    this.#onMessage = onMessage;
  }

  /** Rejects with RoundFailed. */
  async ask(upstream: Upstream, request: UpstreamRequest): Promise<RoundAnswer> {
    upstream.send(request, this);
    try {
      return await this.#answer.promise;
    } finally {
      this.#share?.giveBack();
    }
  }

  pause(): void {
    this.#control.pause();
  }

  resume(): void {
    this.#control.resume();
  }

  /** Nobody waits for it any more: to leave is how a server without sessions is told. */
  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#control.abort();
    this.#answer.reject(new RoundFailed(reason, true));
  }

  onStart(control: ResponseControl): void {
    this.#control.started(control);
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    if (isEventStream(head)) this.#splitter = new FrameSplitter();
  }

  onData(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      if (this.#splitter === undefined) {
        this.#parts.push(chunk);
        this.#count(this.#parts.size);
      } else {
        for (const { data, id, retry } of this.#splitter.push(chunk)) {
          this.lastEventId = id ?? this.lastEventId;
          this.retryMs = retry ?? this.retryMs;
          if (data !== undefined && this.#frame(data)) return;
        }
        this.#count(this.#splitter.length);
      }
    } catch (error) {
      this.abort(error as Error);
    }
  }

  onEnd(): void {
    if (this.#isOver || this.#head === undefined) return;
    if (this.#splitter !== undefined) return this.onError(new Error('the stream ended without the answer'), true);
    this.#isOver = true;
    const body = this.#parts.whole();
    try {
      this.#answer.resolve({ head: this.#head, text: this.#responseIn(body.toString('utf8')), body });
    } catch (error) {
      this.#answer.reject(new RoundFailed(error as Error, true));
    }
  }

  onError(error: Error, sent: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#answer.reject(new RoundFailed(error, sent));
  }

  /** True: it was the answer. */
  #frame(data: string): boolean {
    const message = messageIn(data);
    if (message === undefined) return false;
    if ('method' in message) {
      this.#onMessage(data, 'id' in message);
      // Who gave the call up meanwhile has ended this.
      return this.#isOver;
    }
    if (!isAnswer(message, this.#idText)) return false;
    this.#isOver = true;
    this.#control.abort();
    this.#answer.resolve({ head: this.#head as ResponseHead, text: data, body: Buffer.alloc(0) });
    return true;
  }

  /** A refusal has no id where the server has not read the request. */
  #responseIn(text: string): string | undefined {
    const message = messageIn(text);
    if (message === undefined || 'method' in message) return undefined;
    const isRefusal = 'error' in message && (message['id'] === null || message['id'] === undefined);
    return isRefusal || isAnswer(message, this.#idText) ? text : undefined;
  }

  #count(bytes: number): void {
    if (bytes > MAX_ANSWER_BYTES) throw new Error('the answer of the upstream server is too large');
    if (bytes <= UNCOUNTED_BYTES || this.#holder === undefined) return;
    this.#share ??= this.#holder.share('answers');
    if (!this.#share.set(bytes)) throw answersOverloaded();
  }
}

/**
 * The message of JSON text; undefined for anything else.
 * @throws JsonLimitError
 */
function messageIn(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text === '') return undefined;
  try {
    const value = parseJson(text, ANSWER_LIMITS);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonLimitError) throw error;
    return undefined;
  }
}

function isAnswer(message: Readonly<Record<string, unknown>>, idText: string): boolean {
  const { id } = message;
  if (typeof id !== 'string' && typeof id !== 'number') return false;
  return isId(id, idText) && ('result' in message || 'error' in message);
}
