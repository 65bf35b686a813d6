import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { listen } from '../net/listen.ts';
import { localUrl } from '../net/local-url.ts';
import { createServerForFew } from '../net/few-connections.ts';
import { type Answer, Refusal } from './answer.ts';
import { discardBody, readBody } from './request-body.ts';
import { type Call, findRoute, type Found, type Route } from './route.ts';

/** How long answers that are under way may take to leave at the end. */
const FLUSH_MS = 1_000;
/** Administrators, probes and the operator are few; the rest of what a process may open is for its work. */
const MAX_CONNECTIONS = 256;
/** For a whole request to arrive. */
const REQUEST_MS = 10_000;

/** The part of a program's log that is used here. */
interface HttpLogger {
  debug(attributes: object, message: string): void;
  info(attributes: object, message: string): void;
  error(attributes: object, message: string): void;
}

export interface ServedRequest {
  readonly method: string;
  /** Pattern of the route that matched; '' where none did. */
  readonly route: string;
  /** HTTP status. */
  readonly status: number;
  readonly seconds: number;
}

export interface HttpServerOptions {
  /** Open to everybody. */
  readonly open: readonly Route[];
  /** Only for who has the token; undefined: there is no admin API, and its paths are unknown. */
  readonly admin:
    | {
        readonly routes: readonly Route[];
        readonly hasToken: (authorization?: string) => boolean;
        /** How the log calls what stands at `{name}` in their paths. */
        readonly names: string;
      }
    | undefined;
  readonly logger: HttpLogger;
  /** Why a request may not come in, whatever it asks for; undefined: it may. */
  readonly refuses?: (headers: IncomingHttpHeaders) => string | undefined;
  readonly onRequest?: (served: ServedRequest) => void;
  /** For a route to answer, in milliseconds. Default: as long as it takes. */
  readonly answerMs?: number;
}

/** One port for health checks and the admin API. Every path but the open ones asks for the token before anything else. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const few = { connections: MAX_CONNECTIONS, requestMs: REQUEST_MS };
    this.#server = createServerForFew(few, (request, response) => void this.#serve(request, response));
  }

  /** Opens the port and returns the URL. Without a host: all addresses. */
  async listen(host: string | undefined, port: number): Promise<string> {
    const { address, port: bound } = await listen(this.#server, port, host);
    return localUrl(host === undefined ? '127.0.0.1' : address, bound);
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), FLUSH_MS);
    await closed;
    clearTimeout(timer);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Somebody who leaves early is no failure of the program.
    request.on('error', () => undefined);
    const found = { route: '' };
    const started = performance.now();
    const answer = await this.#answer(request, found).catch((error: unknown) => this.#refused(request, error));
    // Closing the connection at once could cost its sender the answer.
    if (!request.complete) discardBody(request);
    const seconds = (performance.now() - started) / 1000;
    this.#options.onRequest?.({ method: request.method ?? '', route: found.route, status: answer.status, seconds });
    send(response, answer);
  }

  async #answer(request: IncomingMessage, attributes: { route: string }): Promise<Answer> {
    const { method = '', url = '', headers } = request;
    const { open, admin, refuses } = this.#options;
    const refused = refuses?.(headers);
    if (refused !== undefined) throw new Refusal(403, refused);
    const [path = ''] = url.split('?', 1);
    const found = findRoute(open, method, path) ?? this.#foundByAdmin(request, path);
    attributes.route = found.route.path;
    const body = await readBody(request, found.route.maxBodyBytes);
    if (admin?.routes.includes(found.route) === true && found.route.method === 'POST') {
      this.#options.logger.info(
        { route: `${method} ${found.route.path}`, ...(found.name !== '' && { [admin.names]: found.name }) },
        'asked by an administrator',
      );
    }
    return this.#inTime(found.route, {
      name: found.name,
      query: new URLSearchParams(url.slice(path.length)),
      body,
      contentType: (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '',
    });
  }

  async #inTime(route: Route, call: Call): Promise<Answer> {
    const { answerMs } = this.#options;
    if (answerMs === undefined) return route.answer(call);
    const late = Promise.withResolvers<Answer>();
    const timer = setTimeout(() => late.reject(new Refusal(504, `No answer within ${answerMs / 1000} s`)), answerMs);
    try {
      return await Promise.race([route.answer(call), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #foundByAdmin({ method = '', headers }: IncomingMessage, path: string): Found {
    const { admin } = this.#options;
    if (admin === undefined) throw new Refusal(404, 'Not Found');
    if (!admin.hasToken(headers.authorization)) {
      throw new Refusal(401, 'The header Authorization: Bearer <token> is missing, or its token is wrong', {
        'WWW-Authenticate': 'Bearer',
      });
    }
    const found = findRoute(admin.routes, method, path);
    if (found === undefined) throw new Refusal(404, 'Not Found');
    return found;
  }

  #refused({ method, socket }: IncomingMessage, error: unknown): Answer {
    if (error instanceof Refusal) {
      const { status, message, headers } = error;
      // The path may hold anything, and is not logged.
      this.#options.logger.debug({ method, status, peer: socket.remoteAddress }, 'request refused');
      return { status, body: { detail: message }, headers };
    }
    // Left before its body had arrived.
    if (socket.destroyed) return { status: 400, body: { detail: 'Bad Request' } };
    this.#options.logger.error({ err: error }, 'request failed');
    return { status: 500, body: { detail: 'Internal Server Error' } };
  }
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  });
  response.end(text);
}
