import type { ServerResponse } from 'node:http';

/** The downloads that are under way on this replica. */
export class RunningDownloads {
  readonly #running = new Set<ServerResponse>();
  #idle = Promise.withResolvers<void>();

  constructor() {
    this.#idle.resolve();
  }

  /** Counts a download until its last byte has left, or its client. */
  add(reply: ServerResponse): void {
    if (reply.destroyed) return;
    if (this.#running.size === 0) this.#idle = Promise.withResolvers<void>();
    this.#running.add(reply);
    reply.once('close', () => {
      this.#running.delete(reply);
      if (this.#running.size === 0) this.#idle.resolve();
    });
  }

  /** Resolves when no download is under way, or when `signal` ends. */
  async idle(signal: AbortSignal): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const onAbort = (): void => ended.resolve();
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    await Promise.race([this.#idle.promise, ended.promise]);
    signal.removeEventListener('abort', onAbort);
  }
}
