import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { SESSIONLESS_META } from '../upstream/revision-probe.ts';
import { answerResult, type HttpUpstream, startHttpUpstream } from '../upstream/testing/http-upstream.ts';
import { type GatewayServer, startGatewayServer } from '../gateway/testing/gateway-server.ts';

const VERSION = '2026-07-28';
const REGION = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };

describe('I3: the tools of an upstream', () => {
  let upstream: HttpUpstream;
  let server: GatewayServer;
  /** What the upstream says of how long its lists count. */
  let hint: Record<string, unknown> = {};

  beforeEach(async () => {
    hint = {};
    upstream = await startHttpUpstream((request, res) => {
      const { method } = request.message;
      const listed = { resultType: 'complete', tools: [{ name: 'a', inputSchema: REGION }], ...hint };
      if (method === 'tools/list') return answerResult(request, res, listed);
      if (method !== 'server/discover') return answerResult(request, res, { resultType: 'complete', content: [] });
      answerResult(request, res, { supportedVersions: [VERSION], capabilities: { tools: {} } });
    });
    server = await startGatewayServer(upstream.origin);
  });
  afterEach(async () => {
    vi.useRealTimers();
    await server[Symbol.asyncDispose]();
    await upstream.close();
  });

  async function send(method: string, params: Record<string, unknown> = {}, name?: string): Promise<number> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name, 'mcp-param-region': 'eu' }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: SESSIONLESS_META } });
    const answer = await fetch(server.url, { method: 'POST', headers, body });
    await answer.text();
    return answer.status;
  }
  const call = (): Promise<number> => send('tools/call', { name: 'a', arguments: { region: 'eu' } }, 'a');
  const lists = (): number => upstream.requests.filter(({ message }) => message.method === 'tools/list').length;

  test('are not asked for again when a client has just listed them', async () => {
    expect(await send('tools/list')).toBe(200);
    expect(await call()).toBe(200);
    expect(await call()).toBe(200);
    expect(lists()).toBe(1);
  });

  test('are asked for with what the adapter is called, as is whether the upstream has any', async () => {
    await call();
    const own = upstream.requests.filter(({ message }) => message.method !== 'tools/call');
    expect(own.map(({ message }) => message.method)).toEqual(['server/discover', 'tools/list']);
    for (const { message } of own) {
      const meta = message.params?.['_meta'] as Record<string, unknown>;
      expect(meta['io.modelcontextprotocol/clientInfo']).toEqual({
        name: 'mcp-adapter',
        version: expect.stringMatching(/^\d+\.\d+/),
      });
    }
  });

  test('count for as long as the upstream says', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    hint = { ttlMs: 5_000, cacheScope: 'public' };
    await call();
    vi.setSystemTime(Date.now() + 4_900);
    await call();
    expect(lists()).toBe(1);
    vi.setSystemTime(Date.now() + 200);
    await call();
    expect(lists()).toBe(2);
  });

  test('count for no longer than the configuration says, and for a second at least', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    hint = { ttlMs: 3_600_000 };
    await call();
    vi.setSystemTime(Date.now() + 60_001);
    hint = { ttlMs: 0 };
    await call();
    expect(lists()).toBe(2);
    vi.setSystemTime(Date.now() + 900);
    await call();
    expect(lists()).toBe(2);
    vi.setSystemTime(Date.now() + 200);
    await call();
    expect(lists()).toBe(3);
  });

  test('are asked for anew when a client asks', async () => {
    await call();
    await send('tools/list');
    await send('tools/list');
    expect(lists()).toBe(3);
  });
});
