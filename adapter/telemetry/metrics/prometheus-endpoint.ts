import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';

import { createServerForFew } from '../../../lib/net/few-connections.ts';
import { listen } from '../../../lib/net/listen.ts';

const REQUEST_MS = 5_000;
/** Prometheus, perhaps twice, and a human; nobody else has a reason to hold connections. */
const MAX_CONNECTIONS = 16;
const METRICS = 'text/plain; version=0.0.4; charset=utf-8';

/** Which `Host` may ask: the port has no token, and a page of the web could read it under a name of its own. */
export interface MetricsHosts {
  isOwn(host: string | undefined): boolean;
}

/**
 * The metrics in Prometheus' text format, on a port of their own: it can be open inside a cluster only, and what is asked
 * for there does not compete with clients.
 */
export class PrometheusEndpoint {
  readonly #path: string;
  readonly #collect: () => ResourceMetrics;
  readonly #serializer = new PrometheusSerializer('', false, undefined, true, true);
  readonly #hosts: MetricsHosts;
  readonly #server: Server;

  constructor(path: string, collect: () => ResourceMetrics, hosts: MetricsHosts) {
    this.#hosts = hosts;
    this.#path = path;
    this.#collect = collect;
    const few = { connections: MAX_CONNECTIONS, requestMs: REQUEST_MS };
    this.#server = createServerForFew(few, (request, response) => this.#answer(request, response));
  }

  /**
   * @param port 0 for any
   * @returns the port
   * @throws when the port is taken
   */
  async listen(port: number, host: string): Promise<number> {
    const address = await listen(this.#server, port, host);
    this.#server.unref();
    return address.port;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#hosts.isOwn(request.headers.host)) {
      return send(response, 403, 'this host name is not served here; see core.allowed_hosts\n');
    }
    if (pathOf(request) !== this.#path) return send(response, 404, 'not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send(response, 405, 'only GET\n');
    }
    let text;
    try {
      text = this.#serializer.serialize(this.#collect());
    } catch {
      return send(response, 500, 'the metrics cannot be read\n');
    }
    send(response, 200, text, METRICS);
  }
}

function pathOf(request: IncomingMessage): string {
  const [path = ''] = (request.url ?? '').split('?', 1);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function send(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
