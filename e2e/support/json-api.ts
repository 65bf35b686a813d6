import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { type Access, Doorkeeper } from './json-api/access.ts';
import { type Fault, writeHalf } from './json-api/faults.ts';
import { pageOf, PAGINGS } from './json-api/paging.ts';
import type { ApiRecord } from './json-api/records.ts';
import { listen } from './ports.ts';

export { atRandom, type Fault } from './json-api/faults.ts';
export { type ApiRecord, records } from './json-api/records.ts';

/** What it was asked, and what it gave. */
export interface ApiRequest {
  /** Milliseconds of `performance.now()`. */
  readonly time: number;
  readonly method: string;
  readonly path: string;
  /** As it stood in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of the query, or of the JSON object that was posted. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly fault: Fault | undefined;
  /** Undefined while it is not answered. */
  status: number | undefined;
  /** Ids of the records in the answer. */
  ids: readonly number[];
  /** The answer has left completely. */
  complete: boolean;
}

export interface JsonApiOptions {
  readonly tls?: ServerOptions;
  readonly access?: Access;
}

const DEFAULT_PAGE_SIZE = 50;

/**
 * A JSON API over TCP as people scrape it:
 *
 *     /events?from=T&to=T    records of a time, end exclusive unless `ends=inclusive`; `{"meta": …, "data": {"items": […]}}`
 *                            `paging` and `size` divide it
 *     /list                  the same as a bare array
 *     /now                   `present`, a bare array
 *     /token                 tokens, when they are what it asks for
 */
export class JsonApi implements AsyncDisposable {
  readonly requests: ApiRequest[] = [];
  /** In the order of their times. */
  records: readonly ApiRecord[] = [];
  present: readonly unknown[] = [];
  pageSize = DEFAULT_PAGE_SIZE;
  /** Decides what goes wrong; not asked about `/token`. */
  fault: (request: ApiRequest) => Fault | undefined = () => undefined;
  readonly door: Doorkeeper;
  readonly #server: Server;
  readonly #scheme: string;
  readonly #sockets = new Set<Socket>();
  readonly #heard = new Set<() => void>();
  #released = Promise.withResolvers<void>();
  #port = 0;

  constructor({ tls, access = { kind: 'open' } }: JsonApiOptions) {
    this.door = new Doorkeeper(access);
    const listener: RequestListener = (request, response) => void this.#handle(request, response);
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<void> {
    this.#port = await listen(this.#server);
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.#port}`;
  }

  /** Lets all answers go that hang. */
  release(): void {
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }

  /** The first request that fits, also when it has come before; rejects when time runs out. */
  async waitFor(fits: (request: ApiRequest) => boolean, timeoutMs = 15_000, from = 0): Promise<ApiRequest> {
    const limit = AbortSignal.timeout(timeoutMs);
    for (let index = from; ; index += 1) {
      while (index >= this.requests.length) {
        if (limit.aborted) throw new Error(`no such request in ${timeoutMs} ms, only ${this.requests.length} others`);
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#heard.add(resolve);
        limit.addEventListener('abort', () => resolve(), { once: true });
        await promise;
        this.#heard.delete(resolve);
      }
      const request = this.requests[index];
      if (request !== undefined && fits(request)) return request;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: target = '', headers } = message;
    const body = await text(message).catch(() => '');
    const url = new URL(target, this.url);
    const seen = { time: performance.now(), method, path: url.pathname, target, headers, body };
    if (url.pathname === '/token') {
      const token = this.door.token(headers, body);
      response.writeHead(token === undefined ? 401 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(token ?? { error: 'invalid_client' }));
      return;
    }
    const open = { ...seen, parameters: parametersOf(target, body), status: undefined, ids: [], complete: false };
    const request: ApiRequest = { ...open, fault: this.fault({ ...open, fault: undefined }) };
    response.once('finish', () => (request.complete = true));
    this.requests.push(request);
    for (const wake of this.#heard) wake();
    await this.#answer(request, url, response);
  }

  async #answer(request: ApiRequest, url: URL, response: ServerResponse): Promise<void> {
    const { fault } = request;
    if (fault === 'reset') {
      response.socket?.resetAndDestroy();
      return;
    }
    if (fault === 'hang') await this.#released.promise;
    if (typeof fault === 'object' && 'delayMs' in fault) await delay(fault.delayMs);
    const other = typeof fault === 'object' && 'status' in fault ? fault : undefined;
    const refused = this.door.lets(request.headers) ? undefined : { status: 401 };
    const { status, headers, ids, json } = (other ?? refused) ? failed(other ?? refused) : this.#content(request, url);
    request.status = status;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    if (fault === 'truncated' || fault === 'cut') {
      writeHalf(response, json, fault);
    } else if (typeof fault === 'object' && 'body' in fault) {
      response.end(fault.body);
    } else {
      request.ids = ids;
      response.end(json);
    }
  }

  #content({ path, parameters }: ApiRequest, url: URL): Content {
    if (path === '/now') return { status: 200, headers: {}, ids: [], json: JSON.stringify(this.present) };
    if (path !== '/events' && path !== '/list') return failed({ status: 404 });
    const from = timeOf(parameters['from'], -Infinity);
    const to = timeOf(parameters['to'], Infinity);
    if (Number.isNaN(from) || Number.isNaN(to)) return failed({ status: 400 });
    const isInclusive = parameters['ends'] === 'inclusive';
    const all = this.records.filter(({ at }) => {
      const time = Date.parse(at);
      return time >= from && (isInclusive ? time <= to : time < to);
    });
    const paging = PAGINGS.find((known) => known === parameters['paging']) ?? 'none';
    const page = pageOf(all, paging, parameters, { url, pageSize: this.pageSize });
    const json = JSON.stringify(path === '/list' ? page.records : { meta: page.meta, data: { items: page.records } });
    return { status: 200, headers: page.headers, ids: page.records.map(({ id }) => id), json };
  }
}

/** Starts one on a free port of this machine. */
export async function startJsonApi(options: JsonApiOptions = {}): Promise<JsonApi> {
  const api = new JsonApi(options);
  await api.listen();
  return api;
}

interface Content {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly ids: readonly number[];
  readonly json: string;
}

const failed = (
  { status, headers = {} }: { status: number; headers?: Content['headers'] } = { status: 500 },
): Content => ({
  status,
  headers,
  ids: [],
  json: JSON.stringify({ error: `status ${status}` }),
});

/** A plus of a query stands for itself: times have one in their offset, and clients send it as it is. */
function parametersOf(target: string, body: string): Record<string, string> {
  if (body.startsWith('{')) {
    return Object.fromEntries(
      Object.entries(JSON.parse(body) as Record<string, unknown>).map(([key, value]) => [key, String(value)]),
    );
  }
  const query = target.split('?').slice(1).join('?');
  return Object.fromEntries(new URLSearchParams(query.replaceAll('+', '%2B')));
}

/** ISO 8601, or seconds since 1970. */
function timeOf(value: string | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  return /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value);
}
