import type { IncomingMessage } from 'node:http';

import { KeptParts } from '../../lib/stream/kept-parts.ts';
import { MOST_OF_A_BODY, SmallParts, TOO_SMALL } from '../../lib/stream/small-parts.ts';
import { turnBudget } from '../../lib/stream/turn-budget.ts';
import type { ByteShare } from '../byte-account.ts';
import { AdapterError } from '../errors.ts';
import { holdForTurn, holdSocket } from './hold-socket.ts';
import { LARGE_BODY_BYTES } from '../limits.ts';

/** Longest pause between two parts of a body. */
const STALL_MS = 30_000;

/** Whoever wants a body. Either `received` or `failed` is called, once. */
export interface BodyReceiver {
  readonly maxBytes: number;
  /** What the bytes are counted in; given back by whoever made it. */
  readonly share: ByteShare;
  readonly stallMs?: number | undefined;
  /** Asked once, of a large body only. Says how many bytes may come; rejects when none may. */
  largest?(): Promise<number>;
  /** The client is to be told that its body is wanted. */
  ask(): void;
  received(body: Buffer): void;
  /**
   * `body_too_large`, `invalid_request` (single bytes), `request_timeout`, `overloaded`, `cancelled` (the client has gone),
   * or what `largest` rejects with.
   */
  failed(error: unknown): void;
}

/** Reads a body into memory, as far as there is room for it. What is left of one that fails is unread. */
export function readBody(request: IncomingMessage, receiver: BodyReceiver): void {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > receiver.maxBytes) receiver.failed(new AdapterError('body_too_large'));
  else if (declared > LARGE_BODY_BYTES && receiver.largest !== undefined) {
    receiver.largest().then(
      (maxBytes) => {
        if (declared > maxBytes) receiver.failed(new AdapterError('body_too_large'));
        // Nobody listened meanwhile.
        else if (request.destroyed) receiver.failed(gone());
        else if (!receiver.share.fits(declared)) receiver.failed(noRoom());
        else read(request, receiver, Math.min(maxBytes, receiver.maxBytes), true);
      },
      (error: unknown) => receiver.failed(error),
    );
  } else read(request, receiver, receiver.maxBytes, receiver.largest === undefined);
}

function read(request: IncomingMessage, receiver: BodyReceiver, maxBytes: number, mayBeLarge: boolean): void {
  receiver.ask();
  new BodyRead(request, receiver, maxBytes, mayBeLarge).start();
}

const noRoom = (): AdapterError => new AdapterError('overloaded', undefined, { retryAfter: 1 });
const gone = (): AdapterError => new AdapterError('cancelled', 'The client has gone away.');

/** No promises and few closures: every call comes through here. */
class BodyRead {
  readonly #request: IncomingMessage;
  readonly #receiver: BodyReceiver;
  readonly #parts = new KeptParts();
  readonly #small = new SmallParts(MOST_OF_A_BODY);
  readonly #timer: NodeJS.Timeout;
  #mayBeLarge: boolean;
  #maxBytes: number;
  #isOver = false;

  constructor(request: IncomingMessage, receiver: BodyReceiver, maxBytes: number, mayBeLarge: boolean) {
    this.#request = request;
    this.#receiver = receiver;
    this.#maxBytes = maxBytes;
    this.#mayBeLarge = mayBeLarge;
    this.#timer = setTimeout(stalled, receiver.stallMs ?? STALL_MS, this);
  }

  start(): void {
    // A request without a listener for errors has none: it is closed then. Listeners stay, because taking them off costs
    // each call more than they do.
    this.#request
      .on('data', (chunk: Buffer) => this.#take(chunk))
      .on('end', () => this.#end())
      .on('close', () => {
        if (!this.#isOver) this.fail(gone());
      });
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#request.pause();
    this.#failed(error);
  }

  /**
   * Nothing more is read of this connection, not even to be dropped: that costs as much. What has come already goes at once.
   */
  #failForGood(): void {
    holdSocket(this.#request.socket);
    this.#request.push = dropped;
    this.#failed(new AdapterError('invalid_request', TOO_SMALL));
  }

  #failed(error: unknown): void {
    this.#stop();
    this.#parts.clear();
    this.#receiver.failed(error);
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#timer.refresh();
    if (this.#parts.size + chunk.length > this.#maxBytes) this.fail(new AdapterError('body_too_large'));
    else if (this.#small.reached(chunk.length)) this.#failForGood();
    else if (!this.#receiver.share.take(chunk.length)) this.fail(noRoom());
    else {
      this.#parts.push(chunk);
      if (!this.#mayBeLarge && this.#parts.size > LARGE_BODY_BYTES) this.#askForMore();
      // The one part of a small body is not worth being counted.
      else if (this.#parts.size > chunk.length && turnBudget.isSpentBy(chunk.length)) holdForTurn(this.#request.socket);
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#stop();
    // A copy also of a single part: that is a view of the connection's buffer.
    this.#receiver.received(Buffer.concat(this.#parts.all, this.#parts.size));
  }

  #askForMore(): void {
    this.#mayBeLarge = true;
    this.#request.pause();
    this.#receiver.largest?.().then(
      (maxBytes) => {
        this.#maxBytes = Math.min(this.#maxBytes, maxBytes);
        if (this.#parts.size > this.#maxBytes) this.fail(new AdapterError('body_too_large'));
        else if (!this.#isOver) this.#request.resume();
      },
      (error: unknown) => this.fail(error),
    );
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

const dropped = (): boolean => true;
const stalled = (read: BodyRead): void => read.fail(new AdapterError('request_timeout'));
