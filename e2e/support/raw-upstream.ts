import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from './ports.ts';

/** A request as it arrived, with its whole body. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  /** The body parsed as JSON; undefined when it is none. */
  readonly json: unknown;
  /** Aborted when the connection closes before the answer is complete. */
  readonly disconnected: AbortSignal;
}

/** Answers one request. What it throws breaks the connection. */
export type RawHandler = (request: RecordedRequest, res: ServerResponse) => void | Promise<void>;

export interface RawUpstream extends AsyncDisposable {
  readonly port: number;
  /** `http://<host>:<port>`, without a slash at the end. */
  readonly url: string;
  /** Every request so far, in order of arrival; a request is there once its body is complete. */
  readonly requests: RecordedRequest[];
  /** The first request that matches, past or future. Rejects after `timeoutMs` (default 5 s). */
  waitForRequest(matches: (request: RecordedRequest) => boolean, timeoutMs?: number): Promise<RecordedRequest>;
  /** Breaks all connections and refuses new ones, as a process that was killed. */
  die(): Promise<void>;
  /** Listens on the same port again. */
  listenAgain(): Promise<void>;
  close(): Promise<void>;
}

/** An HTTP server in this process that does exactly what `handler` writes. `host` is what it listens on. */
export async function startRawUpstream(handler: RawHandler, host = '127.0.0.1'): Promise<RawUpstream> {
  const requests: RecordedRequest[] = [];
  const arrivals = new EventEmitter();
  arrivals.setMaxListeners(0);
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, (req, res) => {
    serve(req, res).catch(() => res.destroy());
  });

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const disconnected = new AbortController();
    res.once('close', () => {
      if (!res.writableFinished) disconnected.abort();
    });
    const request = await record(req, disconnected.signal);
    requests.push(request);
    arrivals.emit('request', request);
    await handler(request, res);
  }

  async function die(): Promise<void> {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  const port = await listen(server, 0, host);
  return {
    port,
    url: `http://${host}:${port}`,
    requests,
    async waitForRequest(matches, timeoutMs = 5000) {
      const signal = AbortSignal.timeout(timeoutMs);
      for (let next = 0; ; next += 1) {
        // Several may arrive before this goes on, so events only wake it and the list is what is read.
        if (next >= requests.length) await once(arrivals, 'request', { signal }).catch(() => undefined);
        const request = requests[next];
        if (request === undefined) throw new Error(`no such request within ${timeoutMs} ms, but: ${summary(requests)}`);
        if (matches(request)) return request;
      }
    },
    die,
    listenAgain: async () => void (await listen(server, port, host)),
    close: die,
    [Symbol.asyncDispose]: die,
  };
}

async function record(req: IncomingMessage, disconnected: AbortSignal): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(Buffer.from(chunk));
  const body = Buffer.concat(chunks);
  const { method = '', url: path = '', headers, rawHeaders } = req;
  const text = body.toString('utf8');
  return { method, path, headers, rawHeaders, body, text, json: parseJson(text), disconnected };
}

const summary = (requests: readonly RecordedRequest[]): string =>
  requests.map(({ method, path, text }) => `\n${method} ${path} ${text.slice(0, 200)}`).join('') || 'none';

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
