import type { ServerResponse } from 'node:http';

import { Pool } from 'undici';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { countingTurns } from '../../lib/stream/testing/counting-turns.ts';

import { SseConnection } from './sse-connection.ts';
import { type HttpUpstream, startHttpUpstream } from './testing/http-upstream.ts';

describe('the stream of an sse upstream', () => {
  let http: HttpUpstream;
  let pool: Pool;
  let stream: ServerResponse;
  let messages: string[];
  let closes: number;
  let onMessage: (message: string) => Promise<void>;
  let connection: SseConnection;

  beforeEach(async () => {
    http = await startHttpUpstream((_request, res) => {
      stream = res;
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(': hello\n\nevent: endpoint\ndata: /messages?session=1\n\n');
    });
    pool = new Pool(http.origin);
    messages = [];
    closes = 0;
    onMessage = async (message) => void messages.push(message);
    connection = new SseConnection({ onMessage: (message) => onMessage(message), onClose: () => closes++ });
  });
  afterEach(async () => {
    connection.close();
    await pool.destroy();
    await http.close();
  });

  const open = (timeoutMs = 5000) =>
    connection.open(
      pool,
      http.origin,
      '/base/sse',
      ['Accept', 'application/json', 'content-type', 'x', 'X-Key', 'k'],
      timeoutMs,
    );

  test('tells where to post, and asks for events with the headers that it was given', async () => {
    expect(await open()).toEqual({ endpoint: `${http.origin}/messages?session=1` });
    expect(http.requests[0]).toMatchObject({
      method: 'GET',
      url: '/base/sse',
      headers: { accept: 'text/event-stream', 'x-key': 'k' },
    });
    expect(http.requests[0]?.headers).not.toHaveProperty('content-type');
    expect(connection.closed).toBe(false);
  });

  test.each([
    ['messages', '/base/messages'],
    ['/m', '/m'],
    ['?s=1', '/base/sse?s=1'],
    ['ORIGIN/m', '/m'],
  ])('understands %s as an address of its own', async (data, path) => {
    http.handler = (_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`event: endpoint\ndata: ${data.replace('ORIGIN', http.origin)}\n\n`);
    };
    expect(await open()).toEqual({ endpoint: http.origin + path });
  });

  test('M1 T17: lets others have their turn among many short messages', async () => {
    await open();
    const counted = countingTurns();
    const perTurn = new Map<number, number>();
    onMessage = async (message) => {
      messages.push(message);
      perTurn.set(counted.turns, (perTurn.get(counted.turns) ?? 0) + 1);
    };
    // 54,000 bytes come in one part, so that reading them takes no turns.
    stream.write('data: 1\n\n'.repeat(6000));
    await expect.poll(() => messages).toHaveLength(6000);
    counted.stop();
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(512);
  });

  test.each(['http://evil.example/m', '//evil.example/m', 'https://127.0.0.1/m', 'http://[', 'http://localhost:1/m'])(
    'refuses to post elsewhere: %s',
    async (data) => {
      http.handler = (_request, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(`event: endpoint\ndata: ${data}\n\n`);
      };
      await expect(open()).rejects.toThrow('another origin');
      expect(connection.closed).toBe(true);
    },
  );

  test.each([
    [401, 'text/event-stream', 401],
    [404, 'text/plain', 404],
    [200, 'text/html', 502],
    [204, '', 204],
  ])('passes on that it was refused: %i %s', async (status, type, expected) => {
    http.handler = (_request, res) => void res.writeHead(status, type === '' ? {} : { 'content-type': type }).end();
    expect(await open()).toEqual({ status: expected });
  });

  test('fails when it ends, breaks or stays silent before it says where to post', async () => {
    http.handler = (_request, res) => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(': x\n\n');
    await expect(open()).rejects.toThrow('before the endpoint event');
    connection = new SseConnection({ onMessage, onClose: () => closes++ });
    http.handler = (_request, res) => void res.destroy();
    await expect(open()).rejects.toThrow('other side closed');
    connection = new SseConnection({ onMessage, onClose: () => closes++ });
    http.handler = (_request, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    await expect(open(30)).rejects.toThrow('no endpoint event within 0.03 s');
    connection = new SseConnection({ onMessage, onClose: () => closes++ });
    http.handler = () => {};
    await expect(open(30)).rejects.toThrow('no endpoint event within 0.03 s');
  });

  test('delivers messages one at a time and in order', async () => {
    const waiting: (() => void)[] = [];
    onMessage = (message) => {
      messages.push(message);
      return new Promise((resolve) => waiting.push(resolve));
    };
    await open();
    stream.write('data: 1\n\nevent: message\nid: 7\ndata: 2\n\n: x\n\n');
    stream.write('data: 3\n\n');
    for (const expected of [['1'], ['1', '2'], ['1', '2', '3']]) {
      await vi.waitFor(() => expect(messages).toEqual(expected));
      waiting.shift()?.();
    }
  });

  test('tells once that it is over, whoever ended it', async () => {
    await open();
    stream.end();
    await vi.waitFor(() => expect(closes).toBe(1));
    connection.close();
    expect([closes, connection.closed]).toEqual([1, true]);
  });

  test('lets the upstream know when it is closed', async () => {
    await open();
    const gone = new Promise((resolve) => stream.on('close', resolve));
    connection.close();
    await gone;
    expect(closes).toBe(1);
  });
});
