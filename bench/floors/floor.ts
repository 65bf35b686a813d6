/**
 * What both floors are made of. A floor is the least that an MCP proxy on Node can do for a message: read it,
 * parse it, find its session, send its bytes on and send the answer's bytes back. It has none of the adapter's
 * features, so it marks what the features may cost.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';

/** Both answer at once and always well: a floor has no parts that could fail. */
export const healthPaths: readonly string[] = ['/healthz', '/livez'];

export const listenOptions = (env: NodeJS.ProcessEnv) => ({ host: '127.0.0.1', port: Number(env.PORT) });

/** Lets `--cpu-prof` and open sockets end in good order. */
export function exitOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0));
}

interface Session {
  readonly id: string;
  upstreamId: string;
  lastUsed: number;
  inFlight: number;
}

function isInitialize(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'method' in message && message.method === 'initialize';
}

/** Forwards parsed messages by undici's callback interface: no promises and no streams per message. */
export class Relay {
  readonly #pool: Pool;
  readonly #sessions = new Map<string, Session>();

  /** @param origin of the upstream, such as `http://127.0.0.1:4000` */
  constructor(origin: string) {
    this.#pool = new Pool(origin, {
      connections: null,
      keepAliveTimeout: 600_000,
      bodyTimeout: 0,
      headersTimeout: 60_000,
    });
  }

  /** Answers a POST. `body` is the whole request body. */
  post(upstreamPath: string, requestHeaders: IncomingHttpHeaders, body: Buffer, response: ServerResponse): void {
    const message: unknown = JSON.parse(body.toString());
    const sessionId = requestHeaders['mcp-session-id'];
    let session = typeof sessionId === 'string' ? this.#sessions.get(sessionId) : undefined;
    if (session === undefined) {
      if (!isInitialize(message)) {
        response.writeHead(404).end();
        return;
      }
      session = { id: randomUUID(), upstreamId: '', lastUsed: 0, inFlight: 0 };
      this.#sessions.set(session.id, session);
    }
    session.lastUsed = Date.now();
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    if (session.upstreamId !== '') headers['mcp-session-id'] = session.upstreamId;
    const version = requestHeaders['mcp-protocol-version'];
    if (typeof version === 'string') headers['mcp-protocol-version'] = version;
    this.#pool.dispatch({ path: upstreamPath, method: 'POST', headers, body }, new Answer(session, response));
  }
}

/** Passes one upstream response on: whole when its length is known, else chunk by chunk at the client's pace. */
class Answer implements Dispatcher.DispatchHandler {
  readonly #session: Session;
  readonly #response: ServerResponse;
  readonly #chunks: Buffer[] = [];
  #status = 0;
  #type: string | undefined;
  #streamed = false;

  constructor(session: Session, response: ServerResponse) {
    this.#session = session;
    this.#response = response;
    session.inFlight++;
  }

  // undici tells handlers of this interface from those of the old one by this method.
  onRequestStart(): void {}

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    const upstreamId = headers['mcp-session-id'];
    if (typeof upstreamId === 'string') this.#session.upstreamId = upstreamId;
    this.#status = status;
    this.#type = headers['content-type'];
    this.#streamed = headers['content-length'] === undefined;
    if (this.#streamed) this.#response.writeHead(status, this.#headers());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#streamed) {
      this.#chunks.push(chunk);
    } else if (!this.#response.write(chunk)) {
      controller.pause();
      this.#response.once('drain', () => controller.resume());
    }
  }

  onResponseEnd(): void {
    this.#session.inFlight--;
    if (this.#streamed) {
      this.#response.end();
      return;
    }
    const body = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#response.writeHead(this.#status, { ...this.#headers(), 'content-length': body?.length ?? 0 });
    this.#response.end(body);
  }

  onResponseError(): void {
    this.#session.inFlight--;
    if (!this.#response.headersSent) this.#response.writeHead(502);
    this.#response.end();
  }

  #headers(): Record<string, string> {
    const headers: Record<string, string> = { 'mcp-session-id': this.#session.id };
    if (this.#type !== undefined) headers['content-type'] = this.#type;
    return headers;
  }
}
