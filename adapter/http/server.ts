import { randomBytes } from 'node:crypto';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

import type { Access } from '../access/access.ts';
import { AdapterError, httpErrorText, rpcErrorText } from '../errors.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import type { Identity } from '../identity/identity.ts';
import { answerEarly, bringsLargeBody, isReadSlowly } from './large-body.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import type { HostNames } from './host-names.ts';
import type { OriginPolicy } from './origin.ts';
import { type EndDeps, recordRequestEnd, recordBadPath } from './request-end.ts';
import { pathOf, PROBE_PATHS, PUBLIC_PATHS, serverOf } from './request-path.ts';

/**
 * What clients are told (`Keep-Alive: timeout=5`). Those that heed it close their idle connections themselves, so that
 * none is left that this side would have to close, at its end, just as the client sends the next request on it.
 */
const KEEP_ALIVE_MS = 5_000;
/** In truth longer than load balancers keep an idle connection (60 s is common), so that they close first. */
const KEEP_ALIVE_MORE_MS = 70_000;
const REQUEST_RECEIVE_TIMEOUT_MS = 300_000;
const SWEEP_MS = 20;

declare module 'fastify' {
  interface FastifyRequest {
    /** Keyed hash of who is calling, '' when authentication is off. */
    principal: string;
    /** What the caller may do at the server that the request is about; undefined: everything. */
    access: Access | undefined;
    /** Only on routes that decide themselves: what else would have been thrown. Undefined: the request may come in. */
    refusal: AdapterError | undefined;
    attributes: RequestAttributes;
  }
  interface FastifyContextConfig {
    /**
     * The route lets in more than those with the token and an allowed Origin, namely who has a signed URL. It must throw
     * `refusal` unless there is a valid signature and `admitSigned` agrees.
     */
    decidesItself?: boolean;
  }
}

export interface ServerOptions extends EndDeps {
  readonly identification: Identification;
  readonly hosts: HostNames;
  readonly origins: OriginPolicy;
  readonly trustedProxies: readonly string[];
  readonly connections: ConnectionLimits;
  readonly isDraining: () => boolean;
  /** Whether a path is an MCP mount, where errors are JSON-RPC. */
  readonly isMount: (path: string) => boolean;
}

/** Who may come in, server by server. */
export interface Identification {
  /** Who sends a request; `server` is undefined for what belongs to none. Fails with an AdapterError. */
  identify(request: FastifyRequest, server: string | undefined): Identity | Promise<Identity>;
  /** A hash of who it is, '' when authentication is off. May throw an AdapterError. */
  principal(identity: Identity): string;
  /** What they may do at a server; undefined: everything. */
  access(identity: Identity, server: string | undefined): Access | undefined;
  /** What a refusal says of how to authenticate (`WWW-Authenticate`); undefined where there is nothing to say. */
  challenge(error: AdapterError, request: FastifyRequest, server: string | undefined): string | undefined;
}

/** The HTTP server without routes: what every request goes through, in this order, and how errors leave. */
export function createServer(options: ServerOptions): FastifyInstance {
  const prefix = randomBytes(6).toString('base64url');
  let counter = 0;
  const nextId = (): string => `${prefix}${(counter++).toString(36)}`;
  const app = Fastify({
    logger: false,
    serverFactory: (handler) => {
      const connections = new Connections(options.connections, handler);
      const server = createHttpServer(
        { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_RECEIVE_TIMEOUT_MS },
        connections.serve,
      );
      return server.on('connection', connections.accept).setTimeout(0);
    },
    trustProxy: [...options.trustedProxies],
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 4096 },
    clientErrorHandler: refuseConnection,
    frameworkErrors: (_error, request, reply) => {
      const id = nextId();
      recordBadPath(options, request.method, id);
      const text = httpErrorText('bad_request', 'The path is not valid.');
      const headers = { 'content-type': 'application/json', 'content-length': text.length, 'x-request-id': id };
      reply.raw.writeHead(400, headers).end(text);
    },
  });
  app.server.on('checkContinue', (request, response) => {
    // Asked for the body only once it is wanted: see below.
    app.server.emit('request', request, response);
  });
  app.server.keepAliveTimeoutBuffer = KEEP_ALIVE_MORE_MS;
  app.removeAllContentTypeParsers();
  // Routes that take a body read it themselves, once all that can be refused before has been.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.decorateRequest('principal', '');
  app.decorateRequest('access', undefined);
  app.decorateRequest('refusal', undefined);
  app.decorateRequest('attributes', null as unknown as RequestAttributes);

  app.addHook('onRequest', (request, reply, done) => {
    request.attributes = { requestId: nextId() };
    enter(request, reply, options, done);
  });

  // Answers on mounts carry it too; they are written past fastify.
  app.addHook('onSend', (request, reply, payload, done) => {
    void reply.header('x-request-id', request.attributes.requestId);
    done(null, payload);
  });

  app.setNotFoundHandler(() => {
    throw new AdapterError('not_found');
  });
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, options));
  return app;
}

/** What each request goes through before its route; `done` is called with why it is refused, or this throws. */
function enter(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
  done: (error?: Error) => void,
): void {
  const { hosts, origins } = options;
  const raw = reply.raw;
  if (options.isDraining()) raw.setHeader('connection', 'close');
  recordRequestEnd(options, request, raw);

  const { origin, host } = request.headers;
  if (!hosts.serves(host) && !(hosts.letsProbesIn && PROBE_PATHS.has(pathOf(request))))
    throw new AdapterError('forbidden_host');
  if (!origins.allowsOrigin(origin)) refuse(request, new AdapterError('forbidden_origin'));
  if (origin !== undefined) {
    origins.decorate(origin, raw);
    if (request.method === 'OPTIONS' && request.refusal === undefined) {
      raw.setHeader('x-request-id', request.attributes.requestId);
      if (origins.preflight(request.headers, raw)) {
        reply.hijack();
        return;
      }
    }
  }
  if (PUBLIC_PATHS.has(pathOf(request))) return done();
  const identified = identify(request, raw, options);
  // oxlint-disable-next-line promise/no-callback-in-promise -- a hook that is async would make a promise for every request
  if (identified instanceof Promise) identified.then(() => done(), done);
  else done();
}

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, options: ServerOptions): void {
  const known = knownError(error);
  if (known.code === 'internal' && known !== request.refusal)
    options.logger.error({ err: known.cause ?? known }, 'request failed');
  request.attributes.outcome = known.code;
  const onMount = options.isMount(pathOf(request));
  const text = onMount ? rpcErrorText(known.code, known.message, 'null') : httpErrorText(known.code, known.message);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (known.retryAfter !== undefined) headers['retry-after'] = String(known.retryAfter);
  if (bringsLargeBody(request.raw)) sendEarly(request, reply, known.status, headers, text);
  else void reply.code(known.status).headers(headers).send(text);
}

/** Throws, or rejects, as `refuse` does. */
function identify(request: FastifyRequest, raw: ServerResponse, options: ServerOptions): void | Promise<void> {
  try {
    const identity = options.identification.identify(request, serverOf(request));
    if (identity instanceof Promise) {
      return identity
        .then((one) => admit(request, one, options))
        .catch((error: unknown) => refuseCredentials(request, raw, error, options));
    }
    admit(request, identity, options);
  } catch (error) {
    refuseCredentials(request, raw, error, options);
  }
}

function admit(request: FastifyRequest, identity: Identity, { identification }: ServerOptions): void {
  const { attributes } = request;
  if (identity.name !== '') attributes.caller = identity.name;
  if (identity.client !== undefined) attributes.client = identity.client;
  request.principal = identification.principal(identity);
  request.access = identification.access(identity, serverOf(request));
  if (request.is404) throw new AdapterError('not_found');
}

function refuseCredentials(request: FastifyRequest, raw: ServerResponse, error: unknown, options: ServerOptions): void {
  const refusal = knownError(error);
  // What is signed, or open to everybody, needs no other credentials.
  const isMount = options.isMount(pathOf(request));
  const challenge = isMount ? options.identification.challenge(refusal, request, serverOf(request)) : undefined;
  if (challenge !== undefined) raw.setHeader('www-authenticate', challenge);
  refuse(request, refusal);
  // Routes that decide themselves answer past the error handler.
  if (refusal.code === 'internal') options.logger.error({ err: error }, 'request failed');
}

/** Past fastify, which would read the rest of the body for as long as the client likes to send it. */
function sendEarly(
  { raw, attributes }: FastifyRequest,
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): void {
  reply.hijack();
  const all = { ...headers, 'x-request-id': attributes.requestId };
  answerEarly(raw, reply.raw, status, all, text).catch(() => reply.raw.destroy());
}

/** Throws, unless the route decides itself. */
function refuse(request: FastifyRequest, error: AdapterError): void {
  if (request.routeOptions.config.decidesItself !== true) throw error;
  request.refusal ??= error;
}

/**
 * Resolves when no connection is open but those of `streams` answers without an end, or after `limitMs`. While a server
 * drains, each answer says that its connection ends with it. A connection that is closed without that may be closed just
 * as its client sends the next request, and a client must not send a call twice.
 */
export async function clientsGone({ server }: FastifyInstance, streams: () => number, limitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    server.getConnections((error, open) => {
      if (error !== null || open <= streams()) resolve();
    });
  };
  const looking = setInterval(look, SWEEP_MS);
  const timer = setTimeout(resolve, limitMs);
  look();
  try {
    await promise;
  } finally {
    clearInterval(looking);
    clearTimeout(timer);
  }
}

/** Closes the port. Answers that are on their way leave first, for at most `flushMs` milliseconds. */
export async function closeServer(app: FastifyInstance, flushMs: number): Promise<void> {
  const { server } = app;
  // Connections that were kept open for another request are closed as soon as their answer has left.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const timer = setTimeout(() => server.closeAllConnections(), flushMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(timer);
  }
}

/** How node's parser names what is wrong with a request. */
const HTTP_ERRORS: Readonly<Record<string, readonly [status: string, code: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'The request headers are too large.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'body_too_large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request_timeout', 'The request did not come in time.'],
};
const NOT_HTTP = ['400 Bad Request', 'bad_request', 'The request is not valid HTTP.'] as const;

/** Answers a connection on which no request could be read, and closes it. */
function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: { headersSent: boolean } },
): void {
  // Node says so once for each request, and goes on reading it unless the connection is closed.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isReadSlowly(socket)) return;
  // In the middle of an answer to an earlier request, anything more would be taken for a part of it.
  if (!socket.writable || socket._httpMessage?.headersSent === true) {
    socket.destroy();
    return;
  }
  const [status, code, detail] = HTTP_ERRORS[error.code ?? ''] ?? NOT_HTTP;
  const text = httpErrorText(code, detail);
  const headers = `Content-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${text}`);
}

function knownError(error: unknown): AdapterError {
  if (error instanceof AdapterError) return error;
  const { statusCode } = error as { statusCode?: number };
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AdapterError('invalid_request', (error as Error).message, { cause: error });
  }
  return new AdapterError('internal', undefined, { cause: error });
}
