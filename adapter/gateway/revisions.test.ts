import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { SESSIONLESS_META } from '../upstream/revision-probe.ts';
import { answerResult, type Handler, type HttpUpstream, startHttpUpstream } from '../upstream/testing/http-upstream.ts';
import { type GatewayServer, startGatewayServer } from './testing/gateway-server.ts';

const VERSION = '2026-07-28';
const OLDER = ['2025-11-25', '2025-06-18'];

let upstream: HttpUpstream;
let server: GatewayServer;
let handler: Handler = () => undefined;

beforeEach(async () => {
  upstream = await startHttpUpstream((request, res) => handler(request, res));
  server = await startGatewayServer(upstream.origin, {
    disabled_tools: ['hidden'],
    tool_defaults: { tool_call_timeout_seconds: 0.2 },
  });
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await upstream.close();
});

async function send(
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<{ status: number; session: string | null; text: string }> {
  const answer = await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return { status: answer.status, session: answer.headers.get('mcp-session-id'), text: await answer.text() };
}
const modern = (method: string, params: Record<string, unknown> = {}): ReturnType<typeof send> =>
  send(
    method,
    { ...params, _meta: SESSIONLESS_META },
    {
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
    },
  );

describe('I6: a server that knows the sessionless revisions and speaks others only', () => {
  const REFUSAL = `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"No.","data":{"supported":["2025-11-25"], "requested":"${VERSION}"}}}`;

  beforeEach(() => {
    handler = (request, res) => {
      if (request.message.method === 'server/discover') {
        return answerResult(request, res, { supportedVersions: OLDER, capabilities: {}, resultType: 'complete' });
      }
      res.writeHead(400, { 'content-type': 'application/json' }).end(REFUSAL);
    };
  });

  test('refuses requests of the sessionless revision in its own words', async () => {
    for (const method of ['tools/list', 'prompts/list', 'subscriptions/listen', 'nothing/such']) {
      expect(await modern(method)).toMatchObject({ status: 400, text: REFUSAL });
    }
    expect(await modern('tools/call', { name: 'a', arguments: {} })).toMatchObject({ status: 400, text: REFUSAL });
    const discovered = await modern('server/discover');
    expect(JSON.parse(discovered.text)).toMatchObject({ result: { supportedVersions: OLDER } });
  });

  test('is not asked for tools that nobody may call', async () => {
    const { text } = await modern('tools/call', { name: 'hidden', arguments: {} });
    expect(text).toContain('Unknown tool: hidden');
    expect(upstream.requests.filter(({ message }) => message.method === 'tools/call')).toEqual([]);
  });

  test('is asked what it speaks once in a while only', async () => {
    for (let i = 0; i < 3; i++) await modern('tools/list');
    expect(upstream.requests.map(({ message }) => message.method)).toEqual([
      'server/discover',
      'tools/list',
      'tools/list',
      'tools/list',
    ]);
  });
});

describe('requests of the adapter’s own', () => {
  test('say who sends them', async () => {
    handler = (request, res) =>
      request.message.method === 'server/discover'
        ? answerResult(request, res, { supportedVersions: [VERSION], capabilities: { tools: {} } })
        : answerResult(request, res, { tools: [], content: [], resultType: 'complete' });
    await modern('tools/call', { name: 'a', arguments: { x: 1 } });
    const own = upstream.requests.filter(({ message }) => String(message.id).startsWith('mcpa-'));
    expect(own.map(({ message }) => message.method)).toEqual(['server/discover', 'tools/list']);
    for (const { message } of own) {
      expect(message.params?.['_meta']).toMatchObject({
        'io.modelcontextprotocol/clientInfo': { name: 'mcp-adapter', version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
      });
    }
  });
});

describe('results of the adapter’s own', () => {
  test('say that they are complete to clients of the sessionless revision only', async () => {
    handler = (request, res) => {
      const { method, id } = request.message;
      if (id === undefined) return void res.writeHead(202).end();
      if (method === 'server/discover') {
        return answerResult(request, res, { supportedVersions: [VERSION], capabilities: { tools: {} } });
      }
      const opened = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
      if (method === 'initialize') return answerResult(request, res, opened, { 'mcp-session-id': 'u' });
      if (method === 'tools/list') return answerResult(request, res, { tools: [] });
      // A call is never answered.
    };
    const clientInfo = { name: 'c', version: '1' };
    const { session } = await send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    const late = await send('tools/call', { name: 'a', arguments: {} }, { 'mcp-session-id': session ?? '' });
    expect(JSON.parse(late.text)).toMatchObject({ result: { isError: true } });
    expect(late.text).not.toContain('resultType');
    const other = await modern('tools/call', { name: 'a', arguments: {} });
    expect(JSON.parse(other.text)).toMatchObject({ result: { isError: true, resultType: 'complete' } });
  });
});
