import { Agent, type Dispatcher, EnvHttpProxyAgent, type buildConnector } from 'undici';
import type { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import {
  ANYWHERE,
  type ConnectRules,
  guardedConnector,
  guardedLookup,
  refusal,
} from '../../lib/net/guarded-connect.ts';
import { READ_AHEAD_BYTES } from '../../lib/stream/small-parts.ts';
import { NoMemory } from '../limits/memory-budget.ts';
import { ACCEPT_ENCODING, decodeBody, readBytes, tooLarge, UnreadableBody } from './answer-body.ts';
import { type Deadline, deadline } from './deadline.ts';
import { ASK_FOR_LESS, RequestFailure } from './failure.ts';
import { type HttpAnswer, type HttpClient, type HttpRequest, nameOf } from './http-client.ts';
import { LeastRate } from './least-rate.ts';
import { asUrl } from './query.ts';
import { contextOf, readMaterial } from './tls-material.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Shorter than the 5 s after which common servers close an idle connection, so that none is used while it closes. */
const KEEP_ALIVE_MS = 2000;
const KEEP_ALIVE_MARGIN_MS = 3000;
/** How often files of certificates are looked at, which are replaced before they expire. */
const FILES_MS = 60_000;
/** How long an answer may hardly go on. */
const SLOW_MS = 10_000;
/** What is read of an answer that is no success. */
const ERROR_BYTES = 16_384;
const OF_AN_ERROR = { maxBytes: 64 * ERROR_BYTES, take: () => Promise.resolve() };
/** An answer is there as bytes and as text. */
const COST_OF_A_BYTE = 2;

export interface Proxies {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** The usual variables; in lower case they win, as everywhere. */
export function proxiesFrom(env: Readonly<Record<string, string | undefined>>): Proxies {
  const ofAll = env['all_proxy'] || env['ALL_PROXY'];
  return {
    httpProxy: env['http_proxy'] || env['HTTP_PROXY'] || ofAll,
    httpsProxy: env['https_proxy'] || env['HTTPS_PROXY'] || ofAll,
    noProxy: env['no_proxy'] || env['NO_PROXY'],
  };
}

export interface UndiciClientOptions {
  readonly proxies: Proxies;
  readonly userAgent: string;
  /** Where APIs may be. */
  readonly rules?: ConnectRules;
  /** How long an answer may come with less than its least rate. */
  readonly slowMs?: number;
  /** Milliseconds on any clock that does not go backwards. */
  readonly now?: () => number;
}

/** How the host is reached. */
interface Way {
  readonly tls: ClientTls;
  readonly andSystem: boolean;
  readonly proxy: string | undefined;
}

/** The connections of all sources that reach their hosts in the same way. */
interface Connections {
  /** Undefined: nothing to look at again. */
  readonly readAt: number | undefined;
  /** What the files held. */
  readonly material: string;
  readonly dispatcher: Dispatcher;
}

/** HTTP/1.1 through undici: TLS per source, proxies, time limits and a limit of size. */
export class UndiciClient implements HttpClient {
  readonly #options: UndiciClientOptions;
  readonly #now: () => number;
  readonly #connections = new Map<string, Promise<Connections>>();
  #closed = false;

  constructor(options: UndiciClientOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    using limit = deadline(request.timeoutMs, signal);
    try {
      const dispatcher = await this.#dispatcherFor(request);
      limit.signal.throwIfAborted();
      return await exchange(dispatcher, request, this.#options, limit);
    } catch (error) {
      signal.throwIfAborted();
      if (limit.expired) {
        throw new RequestFailure('timeout', `${nameOf(request)}: no answer within ${request.timeoutMs / 1000} s`);
      }
      throw failureOf(error, nameOf(request));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.allSettled(all.map(async (connections) => (await connections).dispatcher.destroy()));
  }

  async #dispatcherFor({ url, tls, andSystem = false }: HttpRequest): Promise<Dispatcher> {
    if (this.#closed) throw new Error('the client is closed');
    const { httpProxy, httpsProxy } = this.#options.proxies;
    const proxy = url.toLowerCase().startsWith('https:') ? httpsProxy : httpProxy;
    const key = JSON.stringify([tls, andSystem, proxy]);
    const known = this.#connections.get(key);
    const current = await known?.catch(() => undefined);
    if (current !== undefined && (current.readAt === undefined || this.#now() - current.readAt < FILES_MS)) {
      return current.dispatcher;
    }
    if (this.#closed) throw new Error('the client is closed');
    // Whoever came first renews; the others wait for the same.
    if (this.#connections.get(key) === known) {
      this.#connections.set(key, this.#renewed({ tls, andSystem, proxy }, current));
    }
    const renewed = await this.#connections.get(key);
    if (renewed === undefined) throw new Error('the client is closed');
    return renewed.dispatcher;
  }

  async #renewed({ tls, andSystem, proxy }: Way, old: Connections | undefined): Promise<Connections> {
    const hasFiles = [tls.caFile, tls.certFile, tls.keyFile].some(Boolean);
    const readAt = hasFiles ? this.#now() : undefined;
    try {
      const read = await readMaterial(tls);
      const material = JSON.stringify(read);
      if (old?.material === material) return { ...old, readAt };
      const own = [read.ca, read.cert, read.key].some((text) => text !== undefined);
      const dispatcher = dispatcherWith(proxy, this.#options, {
        rejectUnauthorized: tls.verify,
        ...(own ? { secureContext: contextOf(read, andSystem) } : {}),
        ...(tls.serverName === null ? {} : { servername: tls.serverName }),
      });
      // What is under way on them ends by itself.
      old?.dispatcher.close().catch(() => {});
      return { readAt, material, dispatcher };
    } catch (error) {
      // Files that are just being replaced do not belong together; what there was still works.
      if (old === undefined) throw error;
      return { ...old, readAt };
    }
  }
}

function dispatcherWith(
  proxy: string | undefined,
  { proxies: { noProxy }, rules = ANYWHERE }: UndiciClientOptions,
  tls: buildConnector.BuildOptions,
): Dispatcher {
  const connectOptions = { ...tls, timeout: CONNECT_TIMEOUT_MS, allowH2: false };
  const connect = guardedConnector(connectOptions, rules);
  const options = {
    // How many requests run at a time is decided by the caller.
    connections: null,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    // Each request has a limit of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (!proxy) return new Agent({ ...options, connect });
  const url = URL.parse(proxy);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new RequestFailure('network', 'the proxy of the environment is no http:// or https:// URL');
  }
  // A proxy may well be on this machine; where else it leads, it decides by itself.
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const refused = refusal(host, host, ANYWHERE);
  if (refused !== undefined) throw refused;
  // With both, because what a proxy of one scheme only means for the other one is decided before.
  const proxies = { httpProxy: proxy, httpsProxy: proxy, noProxy: noProxy ?? '' };
  const proxyTls = { lookup: guardedLookup(ANYWHERE) };
  return new EnvHttpProxyAgent({ ...options, ...proxies, connect, requestTls: connectOptions, proxyTls });
}

async function exchange(
  dispatcher: Dispatcher,
  { method, url, headers, body, maxBytes, memory, minBytesPerSecond = 0 }: HttpRequest,
  { userAgent, slowMs = SLOW_MS }: UndiciClientOptions,
  limit: Deadline,
): Promise<HttpAnswer> {
  const { signal } = limit;
  const { origin, target } = partsOf(url);
  const answer = await dispatcher.request({
    origin,
    path: target,
    method,
    headers: withDefaults(headers, { accept: '*/*', 'accept-encoding': ACCEPT_ENCODING, 'user-agent': userAgent }),
    body: body ?? null,
    signal,
    highWaterMark: READ_AHEAD_BYTES,
  });
  // A body that is left destroys itself, and says so with an event that nobody waits for.
  answer.body.on('error', () => {});
  const { statusCode: status, headers: received } = answer;
  const isSuccess = status >= 200 && status < 300;
  using rate = new LeastRate(minBytesPerSecond, slowMs, () => answer.body.destroy(tooSlow(minBytesPerSecond)));
  const parts = watched(answer.body, rate);
  try {
    const encoding = [received['content-encoding'] ?? []].flat().join(',');
    if (!isSuccess) return { status, headers: received, ...(await beginning(parts, encoding)) };
    if (Number(received['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const take = async (bytes: number): Promise<void> => {
      const cost = bytes * COST_OF_A_BYTE;
      if (memory === undefined || memory.takeNow(cost)) return;
      await rate.paused(() => limit.paused(() => memory.take(cost, signal)));
    };
    const limits = { maxBytes, take };
    const decoded = await decodeBody(await readBytes(parts, limits), encoding, limits);
    return { status, headers: received, text: textOf(decoded), bytes: decoded.length };
  } finally {
    answer.body.destroy();
  }
}

async function* watched(body: AsyncIterable<Buffer>, rate: LeastRate): AsyncGenerator<Buffer, void, void> {
  for await (const part of body) {
    rate.arrived(part.length);
    yield part;
  }
}

const tooSlow = (rate: number): RequestFailure =>
  new RequestFailure('slow', `the answer comes with less than ${rate} bytes a second (minBytesPerSecond)`);

/** Without the byte order mark, which is not JSON. */
const textOf = (bytes: Buffer): string =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.toString('utf8', 3) : bytes.toString('utf8');

/** What an answer that is no success says, if it can be read; that it cannot is of no interest. */
async function beginning(body: AsyncIterable<Buffer>, encoding: string): Promise<Pick<HttpAnswer, 'text' | 'bytes'>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > ERROR_BYTES) break;
    }
    const all = Buffer.concat(chunks).subarray(0, ERROR_BYTES);
    if (encoding === '') return { text: all.toString('utf8'), bytes };
    return { text: (await decodeBody(all, encoding, OF_AN_ERROR)).toString('utf8').slice(0, ERROR_BYTES), bytes };
  } catch (error) {
    if (error instanceof UnreadableBody) return { text: '', bytes };
    throw error;
  }
}

/** The request target by hand: URL would escape more in a query than its owner may want. */
function partsOf(url: string): { origin: string; target: string } {
  const [where = ''] = url.split('#');
  const { origin, pathname } = new URL(where);
  const query = where.indexOf('?');
  return { origin, target: pathname + (query < 0 ? '' : asUrl(where.slice(query))) };
}

function withDefaults(
  headers: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>>,
): Record<string, string> {
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  return { ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !given.has(name))), ...headers };
}

const TLS_CODE = /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_|INVALID_CA|EPROTO)/;

function failureOf(error: unknown, what: string): RequestFailure {
  if (error instanceof RequestFailure) return new RequestFailure(error.kind, `${what}: ${error.message}`);
  if (error instanceof UnreadableBody) return new RequestFailure(error.kind, `${what}: ${error.message}`);
  if (error instanceof NoMemory) return new RequestFailure('too_large', `${what}: ${error.message}; ${ASK_FOR_LESS}`);
  const { code, message } = innermost(error);
  if (code === 'ERR_BLOCKED_ADDRESS') return new RequestFailure('refused', `${what}: ${message}`);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new RequestFailure('timeout', `${what}: no connection in time`);
  const text = [message, message.includes(code) ? '' : code && `(${code})`].filter((part) => part !== '').join(' ');
  return new RequestFailure(TLS_CODE.test(code) ? 'tls' : 'network', `${what}: ${text || 'no connection'}`);
}

/** Several addresses that all failed come as one error without a message, and some errors only as a cause. */
function innermost(error: unknown): { code: string; message: string } {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  if (!(error instanceof Error)) return { code: '', message: 'unknown error' };
  const { code } = error as { code?: unknown };
  if (error.cause instanceof Error && (typeof code !== 'string' || code.startsWith('UND_ERR'))) {
    return innermost(error.cause);
  }
  return { code: typeof code === 'string' ? code : '', message: error.message };
}
