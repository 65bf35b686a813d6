import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { retryAfter } from '../requests/retry-after.ts';

const CHANNEL = 'http.client.response.finish';

/** Hears `Retry-After` in answers to the exporters, which heed it for as long as they wait, and do not pass it on. */
export class RetryAfterListener {
  #until: number | undefined;
  readonly #paths: ReadonlySet<string>;
  readonly #now: () => Date;

  constructor(urls: readonly string[], now: () => Date) {
    this.#paths = new Set(urls.map((url) => new URL(url)).map(({ host, pathname }) => `${host}${pathname}`));
    this.#now = now;
    if (urls.length > 0) subscribe(CHANNEL, this.#hear);
  }

  /** Milliseconds that the collector still wants to be left alone. */
  remaining(): number | undefined {
    const left = (this.#until ?? 0) - this.#now().getTime();
    return left > 0 ? left : undefined;
  }

  close(): void {
    unsubscribe(CHANNEL, this.#hear);
  }

  readonly #hear = (message: unknown): void => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    const [path = ''] = request.path.split('?');
    if (!this.#paths.has(`${String(request.getHeader('host'))}${path}`)) return;
    const wait = retryAfter(response.headers['retry-after'], this.#now());
    this.#until = wait === undefined ? undefined : this.#now().getTime() + wait;
  };
}
