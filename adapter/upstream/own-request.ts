import { randomUUID } from 'node:crypto';

import { ANSWER_LIMITS, JsonLimitError, parseJson } from '../../lib/json/json-limits.ts';
import { type Body, isResponseTo, type Request } from '../exchange/message.ts';
import { FrameSplitter } from '../exchange/scanning/sse-frames.ts';
import type { ResponseControl, ResponseHead, ResponseSink, Upstream, UpstreamSession } from '../exchange/upstream.ts';
import { OWN_ANSWER_BYTES } from '../limits.ts';
import { EarlyControl } from '../exchange/early-control.ts';
import { isEventStream } from '../exchange/headers.ts';

/** Ids of the adapter's own requests, so that clients' ids pass unchanged and never meet them. */
const ID_PREFIX = 'mcpa-';

export interface OwnAnswer {
  readonly status: number;
  readonly upstreamSessionId: string | null;
  /** What was read as a message, whether it is one or not; '' when nothing was. */
  readonly body: string;
  /** JSON text of the response message; undefined when the body held none. */
  readonly text: string | undefined;
  /** The parsed response message. */
  readonly message: { result?: Record<string, unknown>; error?: { code: number; message: string } } | undefined;
}

export interface OwnMessage {
  readonly method: string;
  /** JSON text, so that what a client once sent is replayed as it was. */
  readonly params?: string;
  readonly notification?: boolean;
}

/** The body of a message of the adapter's own. */
export function ownBody(message: OwnMessage): Body & { readonly idText: string } {
  const idText = JSON.stringify(ID_PREFIX + randomUUID());
  const params = message.params === undefined ? '' : `,"params":${message.params}`;
  const id = message.notification === true ? '' : `"id":${idText},`;
  const text = `{"jsonrpc":"2.0",${id}"method":${JSON.stringify(message.method)}${params}}`;
  const parsed = (message.params === undefined ? {} : JSON.parse(message.params)) as Request['params'];
  const routed =
    message.notification === true
      ? ({ kind: 'notification', method: message.method, params: parsed } as const)
      : ({ kind: 'request', method: message.method, params: parsed, idText } as const);
  return { bytes: Buffer.from(text), text, messages: [routed], batch: false, idText };
}

/**
 * Sends one message of the adapter's own and waits for its answer. Rejects when the time is over, and with the signal's
 * reason when that is aborted.
 */
export function ownRequest(
  upstream: Upstream,
  request: {
    readonly session: UpstreamSession | undefined;
    readonly headers: readonly string[];
    readonly message: OwnMessage;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
    /** Sees the head of the answer, which may be all that comes. */
    readonly onHead?: (head: ResponseHead) => void;
  },
): Promise<OwnAnswer> {
  const { signal } = request;
  const body = ownBody(request.message);
  const { promise, resolve, reject } = Promise.withResolvers<OwnAnswer>();
  const sink = new Collector(body.idText, request.onHead, resolve, reject);
  const timer = setTimeout(() => {
    sink.abort();
    reject(new Error(`no answer to ${request.message.method} within ${request.timeoutMs / 1000} s`));
  }, request.timeoutMs);
  const onAbort = (): void => {
    sink.abort();
    reject(signal?.reason as Error);
  };
  if (signal?.aborted === true) onAbort();
  else {
    signal?.addEventListener('abort', onAbort, { once: true });
    upstream.send({ method: 'POST', session: request.session, headers: request.headers, body }, sink);
  }
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  });
}

class Collector implements ResponseSink {
  readonly #idText: string;
  readonly #onHead: ((head: ResponseHead) => void) | undefined;
  readonly #resolve: (answer: OwnAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #control = new EarlyControl();
  #head: ResponseHead | undefined;
  #splitter: FrameSplitter | undefined;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    idText: string,
    onHead: ((head: ResponseHead) => void) | undefined,
    resolve: (answer: OwnAnswer) => void,
    reject: (error: Error) => void,
  ) {
    this.#idText = idText;
    this.#onHead = onHead;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  abort(): void {
    this.#control.abort();
  }

  onStart(control: ResponseControl): void {
    this.#control.started(control);
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    this.#onHead?.(head);
    if (isEventStream(head)) this.#splitter = new FrameSplitter();
  }

  onData(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > OWN_ANSWER_BYTES) {
      this.abort();
      this.#reject(new Error('the answer of the upstream server is too large'));
      return;
    }
    if (this.#splitter === undefined) {
      this.#chunks.push(chunk);
      return;
    }
    try {
      for (const { data } of this.#splitter.push(chunk)) {
        if (data === undefined || !isResponseTo(data, this.#idText)) continue;
        this.#answer(data);
        this.abort();
        return;
      }
    } catch (error) {
      this.abort();
      this.#reject(error as Error);
    }
  }

  onEnd(): void {
    this.#answer(this.#splitter === undefined ? Buffer.concat(this.#chunks).toString('utf8') : undefined);
  }

  onError(error: Error): void {
    this.#reject(error);
  }

  #answer(text: string | undefined): void {
    const { status = 0, upstreamSessionId = null } = this.#head ?? {};
    let message: OwnAnswer['message'];
    try {
      const value: unknown = text === undefined || text === '' ? undefined : parseJson(text, ANSWER_LIMITS);
      if (typeof value === 'object' && value !== null) message = value;
    } catch (error) {
      if (error instanceof JsonLimitError) return this.#reject(error);
      // Not a message: the status says the rest.
    }
    const body = text ?? '';
    this.#resolve({ status, upstreamSessionId, body, text: message === undefined ? undefined : text, message });
  }
}
