import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { ByteShare, Endable, Holder } from '../../byte-account.ts';

/** A client that takes nothing at all for so long is taken to be gone. */
export const STALLED_MS = 60_000;

/** The connection, also that of an answer that waits behind others on it. */
const socketOf = ({ socket, req }: ServerResponse): Socket | undefined => socket ?? req?.socket;

/** What a client has not taken of an answer, counted for it. */
export class Unread implements Endable {
  readonly #res: ServerResponse;
  readonly #share: ByteShare;

  /** @param kept what has been counted of this answer already */
  constructor(res: ServerResponse, holder: Holder, kept?: ByteShare) {
    this.#res = res;
    this.#share = kept ?? holder.share('unread', this);
    kept?.become('unread', this);
    res.once('close', () => this.#share.giveBack());
  }

  /** Counts what waits now. The connection ends where there is no room for it. */
  count(): void {
    if (!this.#share.set(this.#res.writableLength)) this.end();
  }

  progress(): number {
    // Node says that something was taken only when all of a write was.
    const { _handle: handle } = (socketOf(this.#res) ?? {}) as { _handle?: { writeQueueSize?: number } | null };
    return this.#res.writableLength - (handle?.writeQueueSize ?? 0);
  }

  end(): void {
    socketOf(this.#res)?.destroy();
  }
}

/**
 * What has ended leaves at its client's pace, but counted, and not for ever. Called after `end`.
 *
 * @param kept what has been counted of this answer already
 */
export function whileLeaving(res: ServerResponse, holder: Holder, kept?: ByteShare, stalledMs = STALLED_MS): void {
  // Nearly always the system has taken all of it at once.
  if (res.writableLength === 0 || res.destroyed) {
    kept?.giveBack();
    return;
  }
  new Unread(res, holder, kept).count();
  endIfStalled(res, stalledMs);
}

/**
 * Closes the connection when the client takes nothing of what was written for `ms` milliseconds, up to when the answer has
 * left. However slow it is, a client that takes anything goes on.
 *
 * @param waits whether anything waits to be taken; an answer may have parts that are still to come
 */
export function endIfStalled(res: ServerResponse, ms = STALLED_MS, waits = (): boolean => true): void {
  res.on('timeout', () => {
    if (waits()) res.destroy();
  });
  // The socket's own time limit begins anew with each byte that leaves.
  const start = (): void => void res.socket?.setTimeout(ms);
  if (res.socket === null) res.once('socket', start);
  else start();
  // Node then sets the limit of an idle connection.
  res.prependListener('finish', () => res.socket?.setTimeout(0));
}
