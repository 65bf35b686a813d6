import { afterEach, beforeEach, expect, test } from 'vitest';

import { answerResult, type HttpUpstream, startHttpUpstream } from '../../upstream/testing/http-upstream.ts';
import { startGatewayServer } from '../../gateway/testing/gateway-server.ts';

let upstream: HttpUpstream;
/** The messages of each batch that has come. */
const batches: { id?: unknown; method: string }[][] = [];

beforeEach(async () => {
  batches.length = 0;
  upstream = await startHttpUpstream((request, res) => {
    const body: unknown = JSON.parse(request.body);
    if (Array.isArray(body)) {
      batches.push(body as { method: string }[]);
      const answers = (body as { id: unknown; method: string }[]).map(({ id, method }) => {
        return { jsonrpc: '2.0', id, result: method === 'ping' ? {} : { content: [{ type: 'text', text: 'done' }] } };
      });
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers));
      return;
    }
    if (request.message.method === 'tools/list') return answerResult(request, res, { tools: [{ name: 'a' }] });
    const serverInfo = { name: 'u', version: '1' };
    answerResult(request, res, { protocolVersion: '2025-03-26', capabilities: { tools: {} }, serverInfo });
  });
});
afterEach(() => upstream.close());

const call = (id: unknown, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });

async function post(url: string, message: unknown, session?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const own = session === undefined ? {} : { 'mcp-session-id': session };
  return fetch(url, { method: 'POST', headers: { ...headers, ...own }, body: JSON.stringify(message) });
}

async function answersTo(url: string, batch: unknown[], before?: unknown): Promise<unknown> {
  const clientInfo = { name: 'c', version: '1' };
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
  const opened = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  await opened.text();
  const session = opened.headers.get('mcp-session-id') ?? '';
  if (before !== undefined) await (await post(url, before, session)).text();
  const answer = await post(url, batch, session);
  return answer.json();
}

test('T11: a call of a hidden tool in a batch has its own error, and the others their results', async () => {
  await using server = await startGatewayServer(upstream.origin, { disabled_tools: ['hidden'] });
  const answers = await answersTo(server.url, [call(1, 'a'), call('two', 'hidden'), call(3, 'a')]);
  const done = { content: [{ type: 'text', text: 'done' }] };
  expect(answers).toEqual([
    { jsonrpc: '2.0', id: 1, result: done },
    { jsonrpc: '2.0', id: 'two', error: expect.objectContaining({ message: 'Unknown tool: hidden' }) },
    { jsonrpc: '2.0', id: 3, result: done },
  ]);
  expect(batches).toEqual([[call(1, 'a'), { jsonrpc: '2.0', id: 'two', method: 'ping' }, call(3, 'a')]]);
});

test('a tool that has changed since a session saw it has its own error too', async () => {
  const pinning = { mode: 'block', block_strategy: 'baseline_subset' };
  await using server = await startGatewayServer(upstream.origin, { tool_definition_pinning: pinning });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const batch = [call(1, 'a'), call(2, 'new')];
  expect(await answersTo(server.url, batch, list)).toMatchObject([
    { id: 1, result: { content: [{ text: 'done' }] } },
    { id: 2, error: { message: 'Unknown tool: new' } },
  ]);
});
