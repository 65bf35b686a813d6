import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';

export interface SeenRequest {
  readonly method: string;
  /** As it stood in the request line. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

/** A real HTTP server on a free port of this machine; with `tls`, an HTTPS server. */
export class TestServer {
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #scheme: string;
  answer: Answer;

  private constructor(answer: Answer, tls: ServerOptions | undefined) {
    this.answer = answer;
    const listener: RequestListener = (request, response) => void this.#handle(request, response);
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(answer: Answer = json({}), tls?: ServerOptions): Promise<TestServer> {
    const server = new TestServer(answer, tls);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  /** What stood in the request lines. */
  get targets(): string[] {
    return this.requests.map(({ target }) => target);
  }

  get connections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: target = '', headers } = request;
    const seen = { method, target, headers, body: await text(request).catch(() => '') };
    this.requests.push(seen);
    await this.answer(seen, response);
  }
}

/** Answers with JSON. */
export const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  };

/** Answers with these in turn, and with the last one for ever. */
export function inTurn(...answers: readonly Answer[]): Answer {
  let next = 0;
  return (request, response) => answers[Math.min(next++, answers.length - 1)]?.(request, response);
}
