import { createServer, request } from 'node:http';
import { listen } from './ports.ts';

export interface OneFamily extends AsyncDisposable {
  readonly url: string;
}

/**
 * A server that speaks one family of protocol revisions only, made of one that may speak both: what names 2026-07-28 in its header
 * is refused before an `older` server, and what does not before a `newer` one.
 */
export async function startOneFamily(target: string, family: 'older' | 'newer'): Promise<OneFamily> {
  const server = createServer((req, res) => {
    const isNewer = (req.headers['mcp-protocol-version'] ?? '') >= '2026-07-28';
    if (isNewer !== (family === 'newer')) {
      req.resume();
      const error = { code: -32000, message: `Only ${family} revisions are spoken here.` };
      res.writeHead(400, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
      return;
    }
    const { method, headers } = req;
    const upstream = request(target, { method, headers: { ...headers, host: new URL(target).host } }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      res.flushHeaders();
      answer.pipe(res);
      answer.on('error', () => res.destroy());
    });
    upstream.on('error', () => res.destroy());
    res.on('close', () => upstream.destroy());
    req.pipe(upstream);
  });
  const port = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
