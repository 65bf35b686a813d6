import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ObservedUpstream, type UpstreamCall } from './observed-upstream.ts';
import { type OwnMessage, ownRequest } from './own-request.ts';
import { StreamableHttpUpstream } from './streamable-http.ts';
import { answerError, answerResult, type HttpUpstream, startHttpUpstream } from './testing/http-upstream.ts';

describe('an own request', () => {
  let http: HttpUpstream;
  let upstream: ObservedUpstream;
  let calls: UpstreamCall[];

  beforeEach(async () => {
    http = await startHttpUpstream((request, res) => answerResult(request, res, {}));
    calls = [];
    const inner = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
    upstream = new ObservedUpstream(inner, (call) => calls.push(call));
  });
  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const ask = (message: OwnMessage = { method: 'ping' }, timeoutMs = 5000) =>
    ownRequest(upstream, { session: undefined, headers: ['mcp-protocol-version', '2025-11-25'], message, timeoutMs });

  test('is told with its method, its revision and how long it took', async () => {
    await ask();
    expect(calls).toEqual([
      { method: 'ping', seconds: expect.any(Number), errorType: undefined, protocolVersion: '2025-11-25' },
    ]);
    expect(calls[0]?.seconds).toBeGreaterThan(0);
    expect(calls[0]?.seconds).toBeLessThan(5);
  });

  test('is told as soon as its answer has come, though the stream stays open', async () => {
    http.handler = ({ message }, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`data: {"jsonrpc":"2.0","id":"${String(message.id)}","result":{}}\n\n`);
    };
    await ask({ method: 'tools/list' });
    expect(calls).toMatchObject([{ method: 'tools/list', errorType: undefined }]);
  });

  test('that is refused is told with the code of the error, or the HTTP status', async () => {
    http.handler = (request, res) => answerError(request, res, 200, -32601, 'no');
    await ask();
    http.handler = (request, res) => answerError(request, res, 404, -32001, 'no');
    await ask();
    http.handler = (_request, res) => void res.writeHead(202).end();
    await ask({ method: 'notifications/initialized', notification: true });
    expect(calls.map(({ method, errorType }) => [method, errorType])).toEqual([
      ['ping', -32601],
      ['ping', 404],
      ['notifications/initialized', undefined],
    ]);
  });

  test('without an answer is told once', async () => {
    http.handler = () => undefined;
    await expect(ask({ method: 'ping' }, 20)).rejects.toThrow('no answer');
    http.handler = (_request, res) => void res.destroy();
    await expect(ask()).rejects.toThrow();
    await http.close();
    await expect(ask()).rejects.toThrow('ECONNREFUSED');
    expect(calls.map(({ errorType }) => errorType)).toEqual([
      'upstream_timeout',
      'upstream_failed',
      'upstream_unreachable',
    ]);
  });

  test('knows what the upstream behind it knows', () => {
    expect(upstream.modern).toBe(true);
    const session = { serverId: 's', sessionId: 'x', upstreamSessionId: 'u', generation: 0 };
    expect([upstream.knowsEvent('1', session), upstream.knowsEvent('r1-1', session)]).toEqual([true, true]);
  });
});
