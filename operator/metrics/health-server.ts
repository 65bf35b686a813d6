import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServerForFew } from '../../lib/net/few-connections.ts';
import { listen } from '../../lib/net/listen.ts';

export interface HealthSources {
  /** Why the process is not ready, or undefined when it is. */
  readonly notReady: () => string | undefined;
  /** In Prometheus' text format. */
  readonly metrics: () => Promise<string>;
}

const REQUEST_MS = 5_000;
/** Kubelet, Prometheus and a human; nobody else has a reason to hold connections. */
const MAX_CONNECTIONS = 64;

/** Serves /livez, /readyz and /metrics. It is up before anything else and the last to go. */
export class HealthServer {
  readonly #sources: HealthSources;
  readonly #server: Server;

  constructor(sources: HealthSources) {
    this.#sources = sources;
    const few = { connections: MAX_CONNECTIONS, requestMs: REQUEST_MS };
    this.#server = createServerForFew(few, (request, response) => void this.#answer(request, response));
  }

  /**
   * @param port 0 for any
   * @returns the port
   * @throws when the port is taken
   */
  async listen(port: number, host?: string): Promise<number> {
    return (await listen(this.#server, port, host)).port;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?', 1)[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send(response, 405, 'only GET\n');
    }
    try {
      if (path === '/livez') return send(response, 200, OK);
      if (path === '/readyz') return sendReadiness(response, this.#sources.notReady());
      if (path === '/metrics') return send(response, 200, await this.#sources.metrics(), METRICS);
      return send(response, 404, 'not found\n');
    } catch (error) {
      return send(response, 500, `${error instanceof Error ? error.message : 'failed'}\n`);
    }
  }
}

const OK = 'ok\n';
const TEXT = 'text/plain; charset=utf-8';
const METRICS = 'text/plain; version=0.0.4; charset=utf-8';

function sendReadiness(response: ServerResponse, problem: string | undefined): void {
  if (problem === undefined) send(response, 200, OK);
  else send(response, 503, `${problem}\n`);
}

function send(response: ServerResponse, status: number, body: string, type = TEXT): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
