import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';

/** A request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The message in the body. */
  readonly message: { id?: unknown; method?: string; params?: Record<string, unknown> };
}

/** Answers one request; what it throws breaks the connection. */
export type Handler = (request: SeenRequest, res: ServerResponse) => void;

export interface HttpUpstream {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly requests: SeenRequest[];
  handler: Handler;
  /** Resolves when so many requests have come. */
  seen(count: number): Promise<void>;
  close(): Promise<void>;
}

/** An HTTP server whose every answer the test writes. */
export async function startHttpUpstream(handler: Handler): Promise<HttpUpstream> {
  const arrivals = new EventEmitter();
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => undefined);
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { method = '', url = '', headers } = req;
      const seen = { method, url, headers, body, message: body === '' ? {} : JSON.parse(body) };
      upstream.requests.push(seen);
      arrivals.emit('request');
      try {
        upstream.handler(seen, res);
      } catch {
        res.destroy();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const upstream: HttpUpstream = {
    origin: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    requests: [],
    handler,
    async seen(count) {
      while (upstream.requests.length < count) await once(arrivals, 'request', { signal: AbortSignal.timeout(5000) });
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return upstream;
}

/** Answers with a JSON-RPC result. */
export function answerResult(
  request: SeenRequest,
  res: ServerResponse,
  result: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify({ jsonrpc: '2.0', id: request.message.id, result });
  res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text);
}

/** Answers with a JSON-RPC error. */
export function answerError(
  request: SeenRequest,
  res: ServerResponse,
  status: number,
  code: number,
  message: string,
): void {
  const text = JSON.stringify({ jsonrpc: '2.0', id: request.message.id, error: { code, message } });
  res.writeHead(status, { 'content-type': 'application/json' }).end(text);
}
