import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { handshake, HandshakeFailed } from './handshake.ts';
import { StreamableHttpUpstream } from './streamable-http.ts';
import { answerError, answerResult, type HttpUpstream, startHttpUpstream } from './testing/http-upstream.ts';

const INITIALIZE =
  '{ "protocolVersion":"2025-06-18","capabilities":{"x":12345678901234567890},"clientInfo":{"name":"c","version":"1"}}';
const session = { serverId: 's1', sessionId: 'd', upstreamSessionId: 'lost', generation: 3 };

describe('a handshake', () => {
  let http: HttpUpstream;
  let upstream: StreamableHttpUpstream;

  beforeEach(async () => {
    http = await startHttpUpstream((request, res) => {
      const { method } = request.message;
      if (method === 'initialize')
        answerResult(request, res, { protocolVersion: '2025-03-26' }, { 'mcp-session-id': 'up-2' });
      else if (request.message.id === undefined) res.writeHead(202).end();
      else answerResult(request, res, {});
    });
    upstream = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
  });
  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const open = (state: { logLevel?: string | null; subscriptions?: string[] } = {}, timeoutMs = 5000) =>
    handshake(
      upstream,
      session,
      ['content-type', 'application/json', 'x-a', '1'],
      { initializeParams: INITIALIZE, logLevel: null, subscriptions: [], ...state },
      timeoutMs,
    );

  test('sends what the client once sent, to a new session', async () => {
    expect(await open()).toEqual({ upstreamSessionId: 'up-2', protocolVersion: '2025-03-26' });
    expect(http.requests.map(({ message }) => message.method)).toEqual(['initialize', 'notifications/initialized']);
    expect(http.requests[0]?.body).toContain(`"params":${INITIALIZE}`);
    expect(http.requests[0]?.headers).not.toHaveProperty('mcp-session-id');
    expect(http.requests[0]?.headers).not.toHaveProperty('mcp-protocol-version');
    expect(http.requests[1]?.headers).toMatchObject({
      'mcp-session-id': 'up-2',
      'mcp-protocol-version': '2025-03-26',
      'x-a': '1',
    });
  });

  test('repeats the log level and the subscriptions', async () => {
    await open({ logLevel: '{"level":"debug"}', subscriptions: ['test://a', 'test://"b"'] });
    expect(http.requests.slice(2).map(({ message }) => [message.method, message.params])).toEqual([
      ['logging/setLevel', { level: 'debug' }],
      ['resources/subscribe', { uri: 'test://a' }],
      ['resources/subscribe', { uri: 'test://"b"' }],
    ]);
  });

  test('is good even when one of those is refused', async () => {
    const { handler } = http;
    http.handler = (request, res) =>
      request.message.method === 'logging/setLevel'
        ? answerError(request, res, 200, -32_601, 'no')
        : handler(request, res);
    expect(await open({ logLevel: '{"level":"debug"}', subscriptions: ['test://a'] })).toMatchObject({
      upstreamSessionId: 'up-2',
    });
    expect(http.requests).toHaveLength(4);
  });

  test('may open a session without an id', async () => {
    http.handler = (request, res) => answerResult(request, res, { protocolVersion: '2025-11-25' });
    expect(await open()).toEqual({ upstreamSessionId: null, protocolVersion: '2025-11-25' });
    expect(http.requests[1]?.headers).not.toHaveProperty('mcp-session-id');
  });

  test.each<[string, HttpUpstream['handler'], string, number]>([
    [
      'an error',
      (request, res) => answerError(request, res, 400, -32_602, 'Unsupported'),
      'initialize was refused: Unsupported (-32602)',
      400,
    ],
    ['a status', (_request, res) => void res.writeHead(401).end(), 'initialize was answered with HTTP 401', 401],
    ['no version', (request, res) => answerResult(request, res, {}), 'initialize was answered with HTTP 200', 200],
  ])('fails with the reason: %s', async (_name, handler, message, status) => {
    http.handler = handler;
    const failure = await open().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HandshakeFailed);
    expect(failure).toMatchObject({ message, status });
    expect(http.requests).toHaveLength(1);
  });

  test.each<[string, HttpUpstream['handler'], string]>([
    [
      'in its answer',
      (_request, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'up-2' }).flushHeaders();
      },
      'no answer to initialize',
    ],
    [
      'after its answer',
      (request, res) => {
        if (request.message.method !== 'initialize') return;
        answerResult(request, res, { protocolVersion: '2025-03-26' }, { 'mcp-session-id': 'up-2' });
      },
      'no answer to notifications/initialized',
    ],
    [
      'about its version',
      (request, res) => answerResult(request, res, {}, { 'mcp-session-id': 'up-2' }),
      'initialize was answered with HTTP 200',
    ],
  ])('ends the session that it has opened when the upstream falls silent %s', async (_name, handler, message) => {
    const ended = Promise.withResolvers<unknown>();
    http.handler = (request, res) => {
      if (request.method !== 'DELETE') return handler(request, res);
      ended.resolve(request.headers['mcp-session-id']);
      res.writeHead(200).end();
    };
    await expect(open({}, 1000)).rejects.toThrow(message);
    expect(await ended.promise).toBe('up-2');
  });
});
