import { randomBytes } from 'node:crypto';

import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';

import { AdapterError, httpErrorText, rpcErrorText } from '../errors.ts';
import { isInfoEnabled, type Logger, shorten } from '../telemetry/logger.ts';
import type { RequestFacts } from '../gateway/incoming.ts';
import type { Authenticate } from './auth.ts';
import type { OriginPolicy } from './origin.ts';

/** Longer than load balancers keep an idle connection (60 s is common), so that they close first. */
const KEEP_ALIVE_MS = 75_000;
const REQUEST_RECEIVE_TIMEOUT_MS = 300_000;
/** Open without a token (specification, section 5; decisions): probes cannot carry one. */
const PUBLIC_PATHS = new Set(['/healthz', '/livez', '/readyz']);

declare module 'fastify' {
  interface FastifyRequest {
    /** Hash of the caller's token, '' when authentication is off. */
    principal: string;
    facts: RequestFacts;
  }
}

export interface ServerOptions {
  readonly authenticate: Authenticate;
  readonly authHeader: string;
  readonly origins: OriginPolicy;
  readonly trustedProxies: readonly string[];
  readonly maxBodyBytes: number;
  readonly isDraining: () => boolean;
  /** Whether a path is an MCP mount, where errors are JSON-RPC. */
  readonly isMount: (path: string) => boolean;
  readonly logger: Logger;
}

/** The HTTP server without routes: what every request goes through, in this order, and how errors leave. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { origins, logger } = options;
  const app = Fastify({
    logger: false,
    bodyLimit: options.maxBodyBytes,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_RECEIVE_TIMEOUT_MS,
    trustProxy: [...options.trustedProxies],
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 4096 },
    clientErrorHandler: (error, socket) => {
      const status = (error as NodeJS.ErrnoException).code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
      if (!socket.writable) return;
      const text = httpErrorText(status === 431 ? 'headers_too_large' : 'bad_request', 'The request is not valid HTTP.');
      const head = `HTTP/1.1 ${status} ${status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`;
      socket.end(
        `${head}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
      );
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorateRequest('principal', '');
  app.decorateRequest('facts', null as unknown as RequestFacts);

  const prefix = randomBytes(6).toString('base64url');
  let counter = 0;
  app.addHook('onRequest', (request, reply, done) => {
    const raw = reply.raw;
    const id = `${prefix}${(counter++).toString(36)}`;
    request.facts = { requestId: id };
    if (options.isDraining()) raw.setHeader('connection', 'close');
    if (isInfoEnabled(logger)) logWhenDone(logger, request, raw, id);

    const { origin, host } = request.headers;
    if (!origins.allowsHost(host)) throw new AdapterError('forbidden_host');
    if (!origins.allowsOrigin(origin)) throw new AdapterError('forbidden_origin');
    if (origin !== undefined) {
      origins.decorate(origin, raw);
      if (request.method === 'OPTIONS' && origins.preflight(request.headers, raw)) {
        reply.hijack();
        return;
      }
    }
    const principal = options.authenticate(request.headers);
    if (principal === undefined && !PUBLIC_PATHS.has(pathOf(request))) {
      throw new AdapterError('unauthorized', `The header ${options.authHeader} is missing or wrong.`);
    }
    request.principal = principal ?? '';
    done();
  });

  // Answers on mounts carry it too; they are written past fastify.
  app.addHook('onSend', (request, reply, payload, done) => {
    void reply.header('x-request-id', request.facts.requestId);
    done(null, payload);
  });

  app.setNotFoundHandler(() => {
    throw new AdapterError('not_found');
  });
  app.setErrorHandler((error, request, reply) => {
    const known = knownError(error);
    if (known.code === 'internal') logger.error({ err: error }, 'request failed');
    request.facts.outcome = known.code;
    if (known.retryAfter !== undefined) void reply.header('retry-after', String(known.retryAfter));
    const onMount = options.isMount(pathOf(request));
    const text = onMount ? rpcErrorText(known.code, known.message, 'null') : httpErrorText(known.code, known.message);
    void reply.code(known.status).header('content-type', 'application/json').send(text);
  });
  return app;
}

export function pathOf(request: FastifyRequest): string {
  const query = request.url.indexOf('?');
  const path = query === -1 ? request.url : request.url.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function knownError(error: unknown): AdapterError {
  if (error instanceof AdapterError) return error;
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new AdapterError('body_too_large', undefined, { cause: error });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AdapterError('invalid_request', (error as Error).message, { cause: error });
  }
  return new AdapterError('internal', undefined, { cause: error });
}

function logWhenDone(logger: Logger, request: FastifyRequest, raw: NodeJS.EventEmitter & { statusCode: number }, id: string): void {
  const started = performance.now();
  raw.once('close', () => {
    const { facts } = request;
    logger.info(
      {
        request_id: id,
        server_id: facts.serverId,
        session: facts.sessionId === undefined ? undefined : shorten(facts.sessionId),
        http_method: request.method,
        path: facts.serverId === undefined ? pathOf(request).slice(0, 200) : undefined,
        method: facts.rpcMethod,
        tool: facts.tool,
        status: raw.statusCode,
        outcome: facts.outcome,
        ms: Math.round((performance.now() - started) * 100) / 100,
      },
      'request',
    );
  });
}
