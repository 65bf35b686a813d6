import type { IncomingMessage } from 'node:http';

import type { ByteShare } from '../byte-budget.ts';
import { AdapterError } from '../errors.ts';
import { LARGE_BYTES } from './large-body.ts';

/** Longest pause between two parts of a body. */
const STALL_MS = 30_000;

export interface BodyOptions {
  readonly maxBytes: number;
  /** What the bytes are counted in; given back by whoever made it. */
  readonly share: ByteShare;
  /** Asked once, of a large body only. Says how many bytes may come; throws when none may. */
  readonly beforeLarge?: () => Promise<number>;
  /** Tells the client that its body is wanted. */
  readonly ask: () => void;
  readonly stallMs?: number;
}

/**
 * Reads a body into memory, as far as there is room for it. Throws `body_too_large`, `request_timeout`, `overloaded`, and
 * `cancelled` when the client has gone. What is left of the body then is unread.
 */
export function readBody(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  const { maxBytes, beforeLarge, ask } = options;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBytes) return Promise.reject(new AdapterError('body_too_large'));
  if (declared > LARGE_BYTES && beforeLarge !== undefined) return readLarge(request, options, declared, beforeLarge);
  ask();
  return new BodyRead(request, options, beforeLarge).done;
}

async function readLarge(
  request: IncomingMessage,
  options: BodyOptions,
  declared: number,
  beforeLarge: NonNullable<BodyOptions['beforeLarge']>,
): Promise<Buffer> {
  const maxBytes = Math.min(options.maxBytes, await beforeLarge());
  if (declared > maxBytes) throw new AdapterError('body_too_large');
  // Nobody listened meanwhile.
  if (request.destroyed) throw gone();
  options.ask();
  return new BodyRead(request, { ...options, maxBytes }, undefined).done;
}

const gone = (): AdapterError => new AdapterError('cancelled', 'The client has gone away.');

class BodyRead {
  readonly done: Promise<Buffer>;
  readonly #request: IncomingMessage;
  readonly #share: ByteShare;
  readonly #chunks: Buffer[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #resolve: (body: Buffer) => void;
  readonly #reject: (error: unknown) => void;
  #beforeLarge: (() => Promise<number>) | undefined;
  #maxBytes: number;
  #length = 0;
  #isOver = false;

  constructor(
    request: IncomingMessage,
    { maxBytes, share, stallMs = STALL_MS }: BodyOptions,
    beforeLarge: BodyOptions['beforeLarge'],
  ) {
    ({ promise: this.done, resolve: this.#resolve, reject: this.#reject } = Promise.withResolvers<Buffer>());
    this.#request = request;
    this.#share = share;
    this.#maxBytes = maxBytes;
    this.#beforeLarge = beforeLarge;
    this.#timer = setTimeout(() => this.#fail(new AdapterError('request_timeout')), stallMs);
    // A request without a listener for errors has none: it is closed then.
    request.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onGone);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isOver) return undefined;
    this.#timer.refresh();
    this.#length += chunk.length;
    if (this.#length > this.#maxBytes) return this.#fail(new AdapterError('body_too_large'));
    if (!this.#share.take(chunk.length))
      return this.#fail(new AdapterError('overloaded', undefined, { retryAfter: 1 }));
    this.#chunks.push(chunk);
    const ask = this.#beforeLarge;
    if (ask === undefined || this.#length <= LARGE_BYTES) return undefined;
    this.#beforeLarge = undefined;
    return this.#pauseFor(ask);
  };

  readonly #onEnd = (): void => {
    if (this.#isOver) return;
    this.#stop();
    // A copy also of a single part: that is a view of the connection's buffer.
    this.#resolve(Buffer.concat(this.#chunks, this.#length));
  };

  readonly #onGone = (): void => this.#fail(gone());

  #pauseFor(ask: () => Promise<number>): void {
    this.#request.pause();
    ask().then(
      (maxBytes) => {
        this.#maxBytes = Math.min(this.#maxBytes, maxBytes);
        if (this.#isOver) return;
        if (this.#length > this.#maxBytes) this.#fail(new AdapterError('body_too_large'));
        else this.#request.resume();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#stop();
    this.#request.pause();
    this.#chunks.length = 0;
    this.#reject(error);
  }

  /** Listeners stay: taking them off costs each call more than they do. */
  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
