import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { listen } from './ports.ts';

export interface BalancedRequest {
  readonly method: string;
  readonly path: string;
  /** The entry of `targets` that this request was given to. */
  readonly target: string;
  /** What the client got: the target's status, or 502. Undefined until then. */
  status: number | undefined;
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined;
  /** How many requests had come when this one was answered. */
  answeredAfter: number;
}

/**
 * The requests that failed. No failures: a GET on a server without a stream (405), and what was sent to a session that
 * the client ended before it was answered, as its answers to late requests of a server may be.
 */
export function failedOf(requests: readonly BalancedRequest[]): BalancedRequest[] {
  const ended = new Map<string | undefined, number>();
  for (const [i, { method, session }] of requests.entries())
    if (method === 'DELETE' && session !== undefined && !ended.has(session)) ended.set(session, i);
  return requests.filter(({ session, status = 200, answeredAfter }, i) => {
    const end = ended.get(session) ?? Infinity;
    const isLate = i !== end && answeredAfter > end;
    return status >= 400 && status !== 405 && !isLate;
  });
}

export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  /** Origins such as `http://127.0.0.1:4601`. May be replaced or changed at any time; counts from the next request. */
  targets: string[];
  /** Every request so far, in order of arrival. */
  readonly requests: readonly BalancedRequest[];
  /** Breaks all connections. */
  close(): Promise<void>;
}

/**
 * Gives every single request to the next target, also those of one keep-alive connection: the worst case for a
 * gateway that keeps anything about a client in one replica. Never retries, has no affinity, changes no end-to-end
 * header, buffers nothing, and passes on when either side breaks off. A target that cannot be reached gives 502.
 * @param more headers that every request gets, as raw names and values
 */
export async function startBalancer(targets: string[], more: readonly string[] = []): Promise<Balancer> {
  const requests: BalancedRequest[] = [];
  let turn = 0;
  // No time limits of its own: streams are quiet for as long as they like.
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, (req, res) => {
    const target = balancer.targets[turn % balancer.targets.length];
    turn += 1;
    if (target === undefined) {
      res.writeHead(502).end('no target');
      return;
    }
    const id = req.headers['mcp-session-id'];
    const session = typeof id === 'string' ? id : undefined;
    const { method = '', url: path = '' } = req;
    const entry: BalancedRequest = { method, path, target, status: undefined, session, answeredAfter: 0 };
    requests.push(entry);
    forward(req, res, target, more, (status) => Object.assign(entry, { status, answeredAfter: requests.length }));
  });
  const port = await listen(server);

  const balancer: Balancer = {
    port,
    url: `http://127.0.0.1:${port}`,
    targets,
    requests,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
    [Symbol.asyncDispose]: () => balancer.close(),
  };
  return balancer;
}

function forward(
  req: IncomingMessage,
  res: ServerResponse,
  target: string,
  more: readonly string[],
  onStatus: (status: number | undefined) => void,
): void {
  // A new connection for each: a kept one may belong to a replica that died meanwhile, and nothing is retried here.
  const upstream = request(`${target}${req.url}`, {
    method: req.method,
    headers: [...endToEnd(req.rawHeaders), ...more],
    agent: false,
  });
  res.once('close', () => upstream.destroy());
  upstream.on('response', (answer) => {
    onStatus(answer.statusCode);
    res.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
    res.flushHeaders();
    // The pipeline destroys `res` when the target breaks off, so that the client sees a broken body, not a short one.
    pipeline(answer, res, () => undefined);
  });
  upstream.on('error', (error) => {
    // The client has left before the head; nobody got any status.
    if (res.destroyed) return;
    if (res.headersSent) {
      res.destroy();
      return;
    }
    onStatus(502);
    res.writeHead(502, { 'content-type': 'text/plain' }).end(`${target}: ${error.message}`);
  });
  req.on('error', () => upstream.destroy());
  req.pipe(upstream);
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade']);

/** Raw name and value pairs without those that are about one connection (RFC 9110, 7.6.1). Host stays as sent. */
function endToEnd(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = '', value = ''] = raw.slice(index, index + 2);
    if (!HOP_BY_HOP.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}
