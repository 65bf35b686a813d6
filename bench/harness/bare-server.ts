import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The revision without sessions. */
export const NEWEST = '2026-07-28';
/** The last one with them. */
export const OLDER = '2025-11-25';
export const INFO = { name: 'bench', version: '1' };

const RESULTS: Readonly<Record<string, object>> = {
  'server/discover': { supportedVersions: [NEWEST], capabilities: { tools: {} }, _meta: {} },
  initialize: { protocolVersion: OLDER, capabilities: { tools: {} }, serverInfo: INFO },
  'tools/list': { tools: ['echo', 'stream'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};

/**
 * A server that does as little as one can; the tool `stream` answers as an event stream, all else as plain JSON. Returns its URL.
 * @param speaks the families of revisions that it speaks
 * @param onRequest is called with each request
 */
export async function startBareServer(
  speaks: 'both' | 'older' | 'newer',
  onRequest: () => void = () => {},
): Promise<string> {
  const server = createServer((req, res) => {
    onRequest();
    void text(req).then((body) => {
      if (req.method !== 'POST') return res.writeHead(req.method === 'DELETE' ? 200 : 405).end();
      const said = JSON.parse(body) as { id?: unknown; method?: string; params?: { name?: string } };
      const { id, method = '', params } = said;
      if (id === undefined) return res.writeHead(202).end();
      const isNewer = req.headers['mcp-protocol-version'] === NEWEST;
      const isSpoken = speaks === 'both' || (speaks === 'newer') === isNewer;
      const outcome = isSpoken
        ? { result: { ...(isNewer && { resultType: 'complete' }), ...RESULTS[method] } }
        : { error: { code: -32000, message: 'unsupported' } };
      const answer = JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
      const isStream = params?.name === 'stream';
      const session = method === 'initialize' ? { 'mcp-session-id': 'one' } : {};
      const type = isStream ? 'text/event-stream' : 'application/json';
      res.writeHead(isSpoken ? 200 : 400, { 'content-type': type, ...session });
      return res.end(isStream ? `event: message\ndata: ${answer}\n\n` : answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
