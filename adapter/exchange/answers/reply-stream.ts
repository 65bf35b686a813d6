import type { ServerResponse } from 'node:http';

import type { Holder } from '../../byte-account.ts';
import type { QuietStream } from './keep-alive.ts';
import { releaseBytes } from './release-bytes.ts';
import { messageFrame } from '../scanning/sse-frames.ts';
import { endIfStalled, STALLED_MS, Unread, whileLeaving } from './unread.ts';

/** Line ends in a row at which a frame of our own may follow. */
const FRAME_END = 2;
/** More than this many messages waiting for one stream are of no use to anybody; the oldest go. */
const MAX_NOTICES = 100;

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
  readonly #holder: Holder | undefined;
  readonly #stalledMs: number;
  #lineEnds = FRAME_END;
  #wroteSinceTick = false;
  #isSlow = false;
  /** Texts of messages that wait for the end of a frame, or for the client. */
  #notices: string[] | undefined;
  #hasBeenSlow = false;
  /** What waits for a slow client. Undefined where it has not been slow, or nobody counts. */
  #unread: Unread | undefined;

  /** @param holder whom what waits is counted for; undefined where that is little */
  constructor(res: ServerResponse, flow: Flow, isEventStream: boolean, holder?: Holder, stalledMs = STALLED_MS) {
    this.#res = res;
    this.#flow = flow;
    this.#isEventStream = isEventStream;
    this.#holder = holder;
    this.#stalledMs = stalledMs;
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
      this.#watch();
      this.#flow.hold();
      this.#res.once('drain', () => {
        this.#isSlow = false;
        this.#unread?.count();
        this.#sendNotices();
        this.#flow.unhold();
      });
    }
    if (this.#isSlow) this.#unread?.count();
    if (this.#notices !== undefined) this.#sendNotices();
  }

  /** Resolves when the client has taken what was written, or is gone, which it is when it takes nothing for a while. */
  async drained(): Promise<void> {
    if (!this.#isSlow || this.#res.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#res.once('drain', resolve);
    this.#res.once('close', resolve);
    await promise;
    this.#res.off('drain', resolve);
    this.#res.off('close', resolve);
  }

  /** Called when it has ended: what is left leaves at the client's pace. */
  leaves(): void {
    if (this.#hasBeenSlow) this.#unread?.count();
    else if (this.#holder !== undefined) whileLeaving(this.#res, this.#holder);
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

  /** Once: a connection is slow again and again, since each large part makes it so for a moment. */
  #watch(): void {
    if (this.#hasBeenSlow) return;
    this.#hasBeenSlow = true;
    if (this.#holder !== undefined) this.#unread = new Unread(this.#res, this.#holder);
    endIfStalled(this.#res, this.#stalledMs, () => this.#isSlow || this.#res.writableEnded);
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
