import { createHash } from 'node:crypto';

/** What a token endpoint gives. */
export interface Token {
  readonly value: string;
  /** Milliseconds; undefined: the endpoint does not say, and it is used until it is rejected. */
  readonly expiresInMs: number | undefined;
}

/** Before a token expires, a new one is fetched, so that none expires on the way. */
const MARGIN_MS = 30_000;

interface Entry {
  readonly token: Promise<Token>;
  /** Once it is there. */
  value?: string;
  /** On the clock of the cache. */
  freshUntil: number;
}

/** Bearer tokens of all sources and runs; sources with the same credentials share one. */
export class TokenCache {
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new AbortController();

  /** @param now milliseconds on a clock that does not go backwards */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** What tokens are remembered by; it gives nothing away about the credentials. */
  static key(credentials: unknown): string {
    return createHash('sha256').update(JSON.stringify(credentials)).digest('base64');
  }

  /**
   * The token, fetched when there is none or it is about to expire. Whoever asks meanwhile waits for the same one, and
   * `signal` ends only one's own wait. A failure is not remembered.
   */
  async get(key: string, fetch: (signal: AbortSignal) => Promise<Token>, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const known = this.#entries.get(key);
    const entry = known !== undefined && this.#now() < known.freshUntil ? known : this.#fetched(key, fetch);
    return (await unlessAborted(entry.token, signal)).value;
  }

  /** The API does not accept this token; others wait for its successor. */
  reject(key: string, value: string): void {
    if (this.#entries.get(key)?.value === value) this.#entries.delete(key);
  }

  /** For removal from logs. */
  secrets(): string[] {
    return [...this.#entries.values()].flatMap(({ value }) => value ?? []);
  }

  /** Nobody waits any more. */
  close(): void {
    this.#closing.abort(new Error('the scraper is stopping'));
  }

  #fetched(key: string, fetch: (signal: AbortSignal) => Promise<Token>): Entry {
    const entry: Entry = { token: fetch(this.#closing.signal), freshUntil: Infinity };
    this.#entries.set(key, entry);
    entry.token.then(
      ({ value, expiresInMs }) => {
        entry.value = value;
        if (expiresInMs === undefined) return;
        // A token of less than a minute would otherwise be fetched anew for each request.
        entry.freshUntil = this.#now() + expiresInMs - Math.min(MARGIN_MS, expiresInMs / 2);
      },
      () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
      },
    );
    return entry;
  }
}

/** The promise, or the reason of the signal when that comes first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
