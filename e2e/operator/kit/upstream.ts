/**
 * `node e2e/operator/kit/upstream.ts [PORT]`: the MCP server of the examples with one more tool, `wait`, which takes as
 * long as it is told and reports its progress every second. Keeps its sessions in memory, as most servers do.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { toWebRequest } from '@modelcontextprotocol/node';
import { type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { createDemoServer } from '../../../examples/quickstart/tools.ts';

const STEP_MS = 1_000;
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

function createPatientServer(): McpServer {
  const server = createDemoServer();
  const inputSchema = z.object({ seconds: z.int().min(1).max(600) });
  server.registerTool('wait', { description: 'Waits.', inputSchema }, async ({ seconds }, call) => {
    const progressToken = call.mcpReq._meta?.progressToken;
    const began = Date.now();
    for (let progress = 1; progress <= seconds; progress += 1) {
      // By the clock, so that a busy machine makes it no longer.
      const restMs = began + progress * STEP_MS - Date.now();
      await delay(Math.max(0, restMs), undefined, { signal: call.mcpReq.signal });
      if (progressToken === undefined) continue;
      const params = { progressToken, progress, total: seconds };
      await call.mcpReq.notify({ method: 'notifications/progress', params });
    }
    return { content: [{ type: 'text', text: `waited ${seconds} s` }] };
  });
  return server;
}

async function answer(request: Request): Promise<Response> {
  const id = request.headers.get('mcp-session-id');
  if (id !== null) {
    return (await sessions.get(id)?.handleRequest(request)) ?? Response.json({ error: 'no session' }, { status: 404 });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (sessionId) => void sessions.set(sessionId, transport),
    onsessionclosed: (sessionId) => void sessions.delete(sessionId),
  });
  await createPatientServer().connect(transport);
  return await transport.handleRequest(request);
}

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const disconnected = new AbortController();
  res.once('close', () => disconnected.abort());
  const response = await answer(await toWebRequest(req, undefined, { signal: disconnected.signal }));
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.flushHeaders();
  await (response.body === null ? res.end() : pipeline(Readable.fromWeb(response.body), res));
}

process.on('SIGTERM', () => process.exit(0));
createServer((req, res) => {
  serve(req, res).catch((error: unknown) => {
    // Who went away before the end needs no answer.
    if (!res.destroyed) console.error(error);
    res.destroy();
  });
}).listen(Number(process.argv[2] ?? 8931), '0.0.0.0');
