import { setTimeout as delay } from 'node:timers/promises';

import { Agent, type Dispatcher, ProxyAgent } from 'undici';

import type { Connection, Credentials } from './credentials.ts';
import { deadline } from './deadline.ts';
import { ApiError } from './kubernetes.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export interface TransportOptions {
  readonly credentials: Credentials;
  readonly userAgent: string;
  /** For each attempt, from the wait for a free connection to the end of the answer. Default: 30 s. */
  readonly timeoutMs?: number;
  /** Requests at a time; watches are not counted, or they would take all of them. Default: 16. */
  readonly connections?: number;
  readonly random?: () => number;
}

const TIMEOUT_MS = 30_000;
const CONNECTIONS = 16;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;
/** 429, and 5xx with Retry-After: the API server is overloaded, starting or leaving, and did nothing. */
const ATTEMPTS = 5;
const MAX_RETRY_AFTER_MS = 10_000;

/** Connections that were made with the same credentials. */
interface Dispatchers {
  connection: Connection;
  readonly key: string;
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
}

/** HTTP to one API server: credentials, time limits, retries, errors. */
export class ApiTransport {
  readonly #options: TransportOptions;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  #dispatchers: Dispatchers | undefined;
  #closed = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** The body of a successful answer. */
  async json(request: ApiRequest): Promise<unknown> {
    return this.#retried(request, async () => {
      using limit = deadline(this.#timeoutMs, `${request.method} ${request.path}`, request.signal);
      try {
        const answer = await this.#send(request, 'requests', limit.signal);
        const text = await answer.body.text();
        if (answer.statusCode >= 300) throw refusal(answer, text);
        return text === '' ? undefined : JSON.parse(text);
      } catch (error) {
        // A network that swallowed this has swallowed the idle connections too: each would cost another time limit.
        if (limit.signal.aborted && !request.signal?.aborted) this.#leaveConnections();
        throw error;
      }
    });
  }

  /** The body as it comes. Only its start has a time limit; after that, `request.signal` ends it. */
  async *stream(request: ApiRequest): AsyncGenerator<Uint8Array> {
    const opened = await this.#retried(request, async () => {
      const limit = deadline(this.#timeoutMs, `${request.method} ${request.path}`, request.signal);
      try {
        const answer = await this.#send(request, 'watches', limit.signal);
        if (answer.statusCode >= 300) throw refusal(answer, await answer.body.text());
        limit.disarm();
        return { body: answer.body, limit };
      } catch (error) {
        limit[Symbol.dispose]();
        throw error;
      }
    });
    // Leaving early destroys the body, which says so with an event that nobody waits for.
    opened.body.on('error', () => {});
    try {
      yield* opened.body as AsyncIterable<Uint8Array>;
    } finally {
      opened.limit[Symbol.dispose]();
      opened.body.destroy();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const dispatchers = this.#dispatchers;
    this.#dispatchers = undefined;
    await Promise.all([dispatchers?.requests.destroy(), dispatchers?.watches.destroy()]);
  }

  async #retried<T>(request: ApiRequest, attempt: () => Promise<T>): Promise<T> {
    let renewed = false;
    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (error.status === 401 && !renewed) {
          renewed = true;
          this.#options.credentials.renew();
          continue;
        }
        if (error.retryAfterMs === undefined || attempts >= ATTEMPTS) throw error.apiError;
        const wait = Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS) * (1 + 0.25 * this.#random());
        await delay(wait, undefined, { signal: request.signal });
      }
    }
  }

  async #send(
    request: ApiRequest,
    pool: 'requests' | 'watches',
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const connection = await this.#options.credentials.current();
    signal.throwIfAborted();
    const server = new URL(connection.server);
    return this.#dispatchersFor(connection)[pool].request({
      origin: server.origin,
      path: server.pathname.replace(/\/$/, '') + request.path,
      method: request.method,
      headers: {
        ...connection.headers,
        accept: 'application/json',
        'user-agent': this.#options.userAgent,
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      },
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      signal,
    });
  }

  #dispatchersFor(connection: Connection): Dispatchers {
    if (this.#closed) throw new Error('the client of the API server is closed');
    const old = this.#dispatchers;
    if (old?.connection === connection) return old;
    const key = JSON.stringify([connection.server, connection.proxyUrl, connection.tls]);
    if (old?.key === key) {
      old.connection = connection;
      return old;
    }
    this.#leaveConnections();
    const made = {
      connection,
      key,
      requests: dispatcherFor(connection, this.#options.connections ?? CONNECTIONS),
      watches: dispatcherFor(connection, null),
    };
    this.#dispatchers = made;
    return made;
  }

  /** What is under way on them ends by itself; the next request makes new ones. */
  #leaveConnections(): void {
    const old = this.#dispatchers;
    this.#dispatchers = undefined;
    for (const dispatcher of [old?.requests, old?.watches]) dispatcher?.close().catch(() => {});
  }
}

/** Connections of HTTP/1.1 to an API server. @param connections at a time; null: any number */
export function dispatcherFor({ tls, proxyUrl }: Connection, connections: number | null): Dispatcher {
  const options = {
    connections,
    pipelining: 1,
    // One connection for each watch: over HTTP/2, one stalled connection would silence all of them at once.
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Each request has its own limit; a watch has none between two events.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const connect = { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: 30_000 };
  if (proxyUrl === undefined) return new Agent({ ...options, connect });
  if (!/^https?:/.test(proxyUrl)) throw new Error(`a proxy of this kind is not supported: ${proxyUrl}`);
  return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: connect });
}

/** An answer that is no success, and whether to ask again. */
class Refusal extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly apiError: ApiError;

  constructor(status: number, retryAfterMs: number | undefined, apiError: ApiError) {
    super(apiError.message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.apiError = apiError;
  }
}

function refusal({ statusCode, headers }: Dispatcher.ResponseData, text: string): Refusal {
  const retryAfter = headers['retry-after'];
  const seconds = typeof retryAfter === 'string' ? Number(retryAfter) : Number.NaN;
  const mayRetry = statusCode === 429 || statusCode >= 500;
  return new Refusal(
    statusCode,
    mayRetry && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
    apiErrorOf(statusCode, text),
  );
}

/** From a Status object; proxies in front of the API server answer with something else. */
function apiErrorOf(status: number, text: string): ApiError {
  try {
    const { reason, message } = JSON.parse(text) as { reason?: unknown; message?: unknown };
    if (typeof message === 'string')
      return new ApiError(status, typeof reason === 'string' ? reason : 'Unknown', message);
  } catch {
    // No JSON.
  }
  return new ApiError(status, 'Unknown', `HTTP ${status}: ${text.trim().slice(0, 200)}`);
}
