import type { ServerResponse } from 'node:http';

import type { QuietStream } from './keep-alive.ts';
import { releaseBytes } from './release-bytes.ts';
import { messageFrame } from './sse-frames.ts';

/** Line ends in a row at which a frame of our own may follow. */
const FRAME_END = 2;
/** More than this many messages waiting for one stream are of no use to anybody; the oldest go. */
const MAX_NOTICES = 100;

/** A client that takes nothing at all for so long is taken to be gone. */
const STALLED_MS = 60_000;

/** Where the data comes from, which has to wait for a slow client. */
export interface Flow {
  hold(): void;
  unhold(): void;
}

/** The body of a response that leaves bit by bit. Knows when the client is slow, and where a frame ends. */
export class ReplyStream implements QuietStream {
  readonly #res: ServerResponse;
  readonly #flow: Flow;
  readonly #isEventStream: boolean;
  #lineEnds = FRAME_END;
  #wroteSinceTick = false;
  #isSlow = false;
  /** Texts of messages that wait for the end of a frame, or for the client. */
  #notices: string[] | undefined;

  constructor(res: ServerResponse, flow: Flow, isEventStream: boolean) {
    this.#res = res;
    this.#flow = flow;
    this.#isEventStream = isEventStream;
  }

  /** Bytes, or characters of ASCII. `releasable`: nobody needs the bytes once they have left. */
  write(chunk: Buffer | string, releasable = false): void {
    this.#wroteSinceTick = true;
    if (this.#isEventStream) this.#lineEnds = lineEnds(this.#lineEnds, chunk);
    const goesOn =
      releasable && typeof chunk === 'object'
        ? this.#res.write(chunk, (error) => error ?? releaseBytes(chunk))
        : this.#res.write(chunk, 'latin1');
    if (!goesOn && !this.#isSlow) {
      this.#isSlow = true;
      this.#flow.hold();
      this.#res.once('drain', () => {
        this.#isSlow = false;
        this.#sendNotices();
        this.#flow.unhold();
      });
    }
    if (this.#notices !== undefined) this.#sendNotices();
  }

  /** Resolves when the client has taken what was written, or is gone, which it is when it takes nothing for `stalledMs`. */
  async drained(stalledMs = STALLED_MS): Promise<void> {
    if (!this.#isSlow || this.#res.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const isTaken = endIfStalled(this.#res, stalledMs);
    this.#res.once('drain', resolve);
    this.#res.once('close', resolve);
    await promise;
    this.#res.off('drain', resolve);
    this.#res.off('close', resolve);
    isTaken();
  }

  /** Puts a message of our own between the frames. Without an event id: the client's cursor stays the upstream's. */
  notify(text: string): void {
    const notices = (this.#notices ??= []);
    // One that is on its way says it already.
    if (notices.includes(text)) return;
    notices.push(text);
    if (notices.length > MAX_NOTICES) notices.shift();
    this.#sendNotices();
  }

  keepAlive(): void {
    if (!this.#wroteSinceTick && this.#isBetweenFrames && !this.#isSlow) this.#res.write(': keepalive\n\n');
    this.#wroteSinceTick = false;
  }

  /** Ends an event stream with a message of our own, wherever it stands. */
  endWith(text: string): void {
    this.#res.end(`${this.#isBetweenFrames ? '' : '\n\n'}${messageFrame(text)}`);
  }

  get #isBetweenFrames(): boolean {
    return this.#lineEnds === FRAME_END;
  }

  #sendNotices(): void {
    if (this.#notices === undefined || this.#isSlow || !this.#isBetweenFrames) return;
    const notices = this.#notices;
    this.#notices = undefined;
    if (!this.#res.writableEnded) for (const text of notices) this.write(Buffer.from(messageFrame(text)));
  }
}

/**
 * Closes the connection when the client takes nothing of what was written for `ms` milliseconds, up to when the returned
 * function is called or the answer has left. However slow it is, a client that takes anything goes on.
 */
export function endIfStalled(res: ServerResponse, ms = STALLED_MS): () => void {
  const onStalled = (): void => void res.destroy();
  res.once('timeout', onStalled);
  // The socket's own time limit begins anew with each byte that leaves.
  res.socket?.setTimeout(ms);
  return () => {
    res.off('timeout', onStalled);
    res.socket?.setTimeout(0);
  };
}

/** How many line ends in a row stand at the end of the chunk, up to FRAME_END; `before` is that of the chunk before. */
function lineEnds(before: number, chunk: Buffer | string): number {
  let ends = chunk.length < 4 ? before : 0;
  for (let i = Math.max(0, chunk.length - 4); i < chunk.length; i++) {
    const byte = typeof chunk === 'string' ? chunk.charCodeAt(i) : chunk[i];
    if (byte === 0x0a) ends = Math.min(ends + 1, FRAME_END);
    else if (byte !== 0x0d) ends = 0;
  }
  return ends;
}
