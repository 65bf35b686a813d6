import type { ServerResponse } from 'node:http';

import { InProgress } from '../exchange/in-progress.ts';

/** The downloads that are under way on this replica. */
export class RunningDownloads {
  readonly #running = new InProgress();

  /** Counts a download until its last byte has left, or its client. Once for each answer. */
  add(reply: ServerResponse): void {
    if (reply.destroyed) return;
    this.#running.enter();
    reply.once('close', () => this.#running.leave());
  }

  /** Resolves when no download is under way, or when `signal` ends. */
  idle(signal: AbortSignal): Promise<void> {
    return this.#running.idle(signal);
  }
}
