import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HealthObject } from './health.ts';

/** How long answers that are under way may take to leave at the end. */
const FLUSH_MS = 1_000;
const REQUEST_MS = 10_000;

export interface HealthSource {
  health(): HealthObject;
  /** Why the program should be waited for; undefined when it works. */
  notReady(): string | undefined;
}

/**
 * `/livez` (the process works), `/readyz` (its configuration is loaded and it is not about to end), and the health
 * object at `/healthz` and, as the original has it, `/health`. Both answer 200 as long as the process works.
 */
export class HealthServer {
  readonly #server: Server;

  constructor(source: HealthSource) {
    const routes: Readonly<Record<string, (response: ServerResponse) => void>> = {
      '/livez': (response) => send(response, 200, { status: 'ok' }),
      '/readyz': (response) => {
        const reason = source.notReady();
        if (reason === undefined) return send(response, 200, { status: 'ok' });
        response.setHeader('Retry-After', '1');
        return send(response, 503, { status: 'unavailable', reason });
      },
      '/health': (response) => send(response, 200, source.health()),
      '/healthz': (response) => send(response, 200, source.health()),
    };
    this.#server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
      // Nobody sends a body here; one that is sent is not kept.
      request.resume();
      const [path = ''] = (request.url ?? '').split('?');
      const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
      if (route === undefined) return send(response, 404, { detail: 'Not Found' });
      if (request.method === 'GET' || request.method === 'HEAD') return route(response);
      response.setHeader('Allow', 'GET, HEAD');
      return send(response, 405, { detail: 'Method Not Allowed' });
    });
  }

  /** Opens the port and returns the URL. Without a host: all addresses. */
  async listen(host: string | undefined, port: number): Promise<string> {
    const listening = once(this.#server, 'listening');
    this.#server.listen({ host, port });
    await listening;
    const { address, family, port: bound } = this.#server.address() as AddressInfo;
    const name = /^(0\.0\.0\.0|::)$/.test(address) ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
    return `http://${name}:${bound}`;
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
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(JSON.stringify(body));
}
