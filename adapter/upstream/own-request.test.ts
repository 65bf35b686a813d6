import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { parseBody } from '../exchange/message.ts';
import { ownBody, ownRequest } from './own-request.ts';
import { StreamableHttpUpstream } from './streamable-http.ts';
import { answerError, answerResult, type HttpUpstream, startHttpUpstream } from './testing/http-upstream.ts';

const JSON_HEADERS = ['content-type', 'application/json'];

test('the body of an own message reads as it routes', () => {
  for (const message of [
    { method: 'ping' },
    { method: 'a"b', params: '{"x":12345678901234567890}' },
    { method: 'notifications/initialized', notification: true },
    { method: 'n', params: '{"y":1}', notification: true },
  ]) {
    const own = ownBody(message);
    const { bytes, text, messages, batch } = own;
    expect(parseBody(bytes)).toEqual({ bytes, text, messages, batch });
  }
  expect(ownBody({ method: 'm', params: '{ "x":12345678901234567890}' }).text).toContain('{ "x":12345678901234567890}');
  expect(ownBody({ method: 'm' }).idText).not.toBe(ownBody({ method: 'm' }).idText);
});

describe('a request of the adapter’s own', () => {
  let http: HttpUpstream;
  let upstream: StreamableHttpUpstream;

  beforeEach(async () => {
    http = await startHttpUpstream((request, res) => answerResult(request, res, { ok: true }));
    upstream = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
  });
  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const ask = (timeoutMs = 5000, message: Parameters<typeof ownBody>[0] = { method: 'ping' }) =>
    ownRequest(upstream, { session: undefined, headers: JSON_HEADERS, message, timeoutMs });

  test('is answered by JSON', async () => {
    http.handler = (request, res) => answerResult(request, res, { n: 1 }, { 'mcp-session-id': 'up-1' });
    const answer = await ask();
    expect(answer).toMatchObject({ status: 200, upstreamSessionId: 'up-1', message: { result: { n: 1 } } });
    expect(answer.text).toContain('"result":{"n":1}');
    expect(http.requests[0]?.message).toMatchObject({ jsonrpc: '2.0', method: 'ping' });
    expect(http.requests[0]?.message.id).toMatch(/^mcpa-/);
  });

  test('is answered by the one event that responds to it, and waits for nothing after that', async () => {
    http.handler = ({ message }, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('id: 0\ndata:\n\n: x\n\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n');
      res.write('data: {"jsonrpc":"2.0","id":"another","result":{}}\n\n');
      res.write(`data: {"jsonrpc":"2.0","id":"${String(message.id)}","method":"sampling/createMessage"}\n\n`);
      // The stream stays open.
      res.write(`data: {"jsonrpc":"2.0","id":"${String(message.id)}","result":{"n":2}}\n\n`);
    };
    expect(await ask()).toMatchObject({ status: 200, message: { result: { n: 2 } } });
  });

  test('may be refused', async () => {
    http.handler = (request, res) => answerError(request, res, 400, -32_000, 'No.');
    expect(await ask()).toMatchObject({ status: 400, message: { error: { code: -32_000, message: 'No.' } } });
  });

  test.each<[string, (res: import('node:http').ServerResponse) => void, number]>([
    ['a page', (res) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<html>'), 502],
    ['nothing', (res) => void res.writeHead(202).end(), 202],
    [
      'a stream without an answer',
      (res) => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {}\n\n'),
      200,
    ],
    [
      'JSON that is no message',
      (res) => void res.writeHead(200, { 'content-type': 'application/json' }).end('"x"'),
      200,
    ],
  ])('may get no message: %s', async (_name, answer, status) => {
    http.handler = (_request, res) => answer(res);
    expect(await ask()).toMatchObject({ status, body: expect.any(String), text: undefined, message: undefined });
  });

  test('fails when the connection does', async () => {
    http.handler = (_request, res) => void res.destroy();
    await expect(ask()).rejects.toThrow('other side closed');
  });

  test('fails when the time is over, and lets the upstream know', async () => {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    http.handler = (_request, res) => void res.on('close', resolve);
    await expect(ask(30)).rejects.toThrow('no answer to ping within 0.03 s');
    await gone;
  });

  test('fails when it is not wanted any more, and lets the upstream know', async () => {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const controller = new AbortController();
    http.handler = (_request, res) => {
      res.on('close', resolve);
      controller.abort(new Error('enough'));
    };
    const message = { method: 'ping' };
    const request = { session: undefined, headers: JSON_HEADERS, message, timeoutMs: 5000, signal: controller.signal };
    await expect(ownRequest(upstream, request)).rejects.toThrow('enough');
    await gone;
    await expect(ownRequest(upstream, request)).rejects.toThrow('enough');
    expect(http.requests).toHaveLength(1);
  });

  test('fails when the answer is too large, whatever its kind', async () => {
    for (const type of ['application/json', 'text/event-stream']) {
      const { promise: gone, resolve } = Promise.withResolvers<void>();
      http.handler = (_request, res) => {
        res.on('close', resolve);
        res.writeHead(200, { 'content-type': type }).write(Buffer.alloc(20 << 20, 'x'));
      };
      await expect(ask()).rejects.toThrow('too large');
      await gone;
    }
  });
});
