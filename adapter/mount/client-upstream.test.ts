import { expect, test, vi } from 'vitest';

import { answerResult, startHttpUpstream } from '../upstream/testing/http-upstream.ts';
import { startGatewayServer } from '../gateway/testing/gateway-server.ts';

const REVISION = '2025-11-25';

test('an upstream session is ended only after all replicas have been told, and also when they cannot be', async () => {
  const ended: string[] = [];
  await using started = new AsyncDisposableStack();
  const upstream = await startHttpUpstream((request, res) => {
    if (request.method === 'DELETE') ended.push(String(request.headers['mcp-session-id']));
    if (request.message.method === 'initialize') {
      res.setHeader('mcp-session-id', 'of-upstream');
      answerResult(request, res, { protocolVersion: REVISION, capabilities: {} });
    } else res.writeHead(202).end();
  });
  started.defer(() => upstream.close());
  const server = started.use(await startGatewayServer(`${upstream.origin}/mcp`, { upstream_ping: { enabled: false } }));
  const send = async (method: string, headers: Record<string, string>, body?: string): Promise<Response> => {
    const response = await fetch(server.url, { method, headers, ...(body === undefined ? {} : { body }) });
    await response.arrayBuffer();
    return response;
  };
  const open = async (): Promise<Record<string, string>> => {
    const params = `{"protocolVersion":"${REVISION}","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`;
    const body = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`;
    const { headers } = await send('POST', { 'content-type': 'application/json' }, body);
    return { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
  };

  const told = Promise.withResolvers<void>();
  const publish = vi.spyOn(server.bus, 'publish').mockReturnValueOnce(told.promise);
  const answered = send('DELETE', await open());
  await vi.waitFor(() => expect(publish).toHaveBeenCalled());
  // A request of its own has been there and back meanwhile.
  await open();
  expect(ended).toEqual([]);
  told.resolve();
  expect((await answered).status).toBe(200);
  expect(ended).toEqual(['of-upstream']);

  const failure = new Error('nobody can be told');
  publish.mockRejectedValueOnce(failure);
  expect((await send('DELETE', await open())).status).toBe(500);
  expect(ended).toEqual(['of-upstream', 'of-upstream']);
  expect(server.unexpected).toEqual([failure]);
});
