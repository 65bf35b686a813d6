/**
 * A small MCP server to put behind the adapter: `node examples/quickstart/upstream.ts [--port 8931] [--host 127.0.0.1]`.
 * Prints its URL, and ends on SIGTERM and SIGINT. Port 0 takes a free one. On loopback it answers nobody who calls it by
 * another name; on another address it answers everyone, which is meant for a network of its own, such as a pod's.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { localhostHostValidation, localhostOriginValidation, toWebRequest } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { createDemoServer } from './tools.ts';

/** Revision 2026-07-28: every request stands for itself. */
const modern = createMcpHandler(createDemoServer, { legacy: 'reject' });

/** Revisions up to 2025-11-25: one server and one transport for each session. */
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

async function serveSession(request: Request): Promise<Response> {
  const id = request.headers.get('mcp-session-id');
  if (id !== null) {
    const known = sessions.get(id);
    if (known !== undefined) return await known.handleRequest(request);
    const error = { code: -32001, message: 'Session not found' };
    return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (sessionId) => void sessions.set(sessionId, transport),
    onsessionclosed: (sessionId) => void sessions.delete(sessionId),
  });
  await createDemoServer().connect(transport);
  return await transport.handleRequest(request);
}

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const disconnected = new AbortController();
  res.once('close', () => disconnected.abort());
  const request = await toWebRequest(req, undefined, { signal: disconnected.signal });
  const response = (await isLegacyRequest(request)) ? await serveSession(request) : await modern.fetch(request);
  res.writeHead(response.status, Object.fromEntries(response.headers));
  // An event stream may be quiet for long; its client must see at once that it is open.
  res.flushHeaders();
  await (response.body === null ? res.end() : pipeline(Readable.fromWeb(response.body), res));
}

const { values } = parseArgs({
  options: { port: { type: 'string', default: '8931' }, host: { type: 'string', default: '127.0.0.1' } },
});
const onLoopback = values.host === '127.0.0.1';
const hostAllowed = localhostHostValidation();
const originAllowed = localhostOriginValidation();

const http = createServer((req, res) => {
  if (onLoopback && (!hostAllowed(req, res) || !originAllowed(req, res))) return;
  if (new URL(req.url ?? '/', 'http://localhost').pathname !== '/mcp') {
    res.writeHead(404).end();
    return;
  }
  serve(req, res).catch((error: unknown) => {
    // A client that went away before the end is no failure.
    if (!res.destroyed) console.error(error);
    res.destroy();
  });
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
http.on('error', (error) => {
  console.error(`demo upstream: ${error.message}`);
  process.exit(1);
});
http.listen(Number(values.port), values.host, () => {
  const address = http.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  console.log(`demo upstream listening: http://${values.host}:${port}/mcp`);
});
