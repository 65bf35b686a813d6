import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, test } from 'vitest';

import { ApiClient } from './api-client.ts';
import { CONFIG_MAPS, MCP_TOOL_LOCKS, SERVICES } from './resources.ts';
import { MalformedEventError } from './watch-stream.ts';

/** What no healthy API server does on demand. */
type Output = (response: ServerResponse, request: IncomingMessage) => void;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const serverOf = (...answers: Output[]) => serverWithin(5_000, ...answers);

async function serverWithin(timeoutMs: number, ...answers: Output[]) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const answer = answers[Math.min(requests.length, answers.length) - 1]!;
    answer(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let renewed = 0;
  const client = new ApiClient({
    credentials: {
      current: async () => ({ server: `${url}/behind/`, tls: {}, headers: { authorization: `Bearer ${renewed}` } }),
      renew: () => renewed++,
    },
    userAgent: 'operator/1',
    timeoutMs,
    random: () => 0,
  });
  closing.push(
    () => new Promise((resolve) => server.close(resolve)),
    () => client.close(),
  );
  return { client, requests };
}
const answer =
  (status: number, body: unknown, headers: Record<string, string> = {}): Output =>
  (response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
const status = (code: number, reason: string) => ({ kind: 'Status', code, reason, message: `it is ${reason}` });
const page = (names: string[], next?: string) => ({
  metadata: { resourceVersion: `of ${names[0]}`, ...(next === undefined ? {} : { continue: next }) },
  items: names.map((name) => ({ metadata: { name, namespace: 'ns' } })),
});
const a = { namespace: 'ns', name: 'a' };

describe('an API server that cannot answer now', () => {
  test.each([429, 503])('with %i and Retry-After is asked again', async (code) => {
    const busy = answer(code, status(code, 'TooManyRequests'), { 'retry-after': '0' });
    const { client, requests } = await serverOf(busy, busy, answer(200, { metadata: { name: 'a' } }));
    expect(await client.get(CONFIG_MAPS, a)).toMatchObject({ metadata: { name: 'a' } });
    expect(requests).toHaveLength(3);
  });

  test('is asked five times, then its answer is the error', async () => {
    const { client, requests } = await serverOf(answer(429, status(429, 'TooManyRequests'), { 'retry-after': '0' }));
    await expect(client.get(CONFIG_MAPS, a)).rejects.toMatchObject({ code: 429, reason: 'TooManyRequests' });
    expect(requests).toHaveLength(5);
  });

  test('is not asked again before Retry-After, nor after the caller gave up', async () => {
    const { client, requests } = await serverOf(answer(429, status(429, 'TooManyRequests'), { 'retry-after': '1' }));
    const given = new AbortController();
    const began = performance.now();
    const got = client.get(CONFIG_MAPS, a, given.signal);
    setTimeout(() => given.abort(), 1_500);
    await expect(got).rejects.toMatchObject({ name: 'AbortError' });
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(requests).toHaveLength(2);
  });

  test('without Retry-After is not asked again', async () => {
    const { client, requests } = await serverOf(answer(503, 'upstream connect error'));
    await expect(client.get(CONFIG_MAPS, a)).rejects.toMatchObject({
      code: 503,
      reason: 'Unknown',
      message: 'HTTP 503: upstream connect error',
    });
    expect(requests).toHaveLength(1);
  });
});

test('a refused token is renewed once', async () => {
  const refused = answer(401, status(401, 'Unauthorized'));
  const { client, requests } = await serverOf(refused, answer(200, {}), refused);
  await client.get(CONFIG_MAPS, a);
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer 0', 'Bearer 1']);
  await expect(client.get(CONFIG_MAPS, a)).rejects.toMatchObject({ code: 401 });
  expect(requests).toHaveLength(4);
});

test('requests say who asks, below the path of the server', async () => {
  const { client, requests } = await serverOf(answer(200, {}));
  await client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: a }, CONFIG_MAPS, { fieldManager: 'us' });
  expect(requests[0]).toMatchObject({
    method: 'PATCH',
    url: '/behind/api/v1/namespaces/ns/configmaps/a?fieldManager=us&force=true',
    headers: { 'user-agent': 'operator/1', 'content-type': 'application/apply-patch+yaml' },
  });
});

describe('a list whose pages expire', () => {
  const expired = answer(410, status(410, 'Expired'));
  test('is begun again', async () => {
    const { client, requests } = await serverOf(
      answer(200, page(['old'], 'next')),
      expired,
      answer(200, page(['a'], 'next')),
      answer(200, page(['b'])),
    );
    const list = await client.list(CONFIG_MAPS, {});
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(list.resourceVersion).toBe('of a');
    expect(requests.map(({ url }) => new URL(url!, 'http://x').searchParams.get('continue'))).toEqual([
      null,
      'next',
      null,
      'next',
    ]);
  });

  test('each time is at last asked for in one piece', async () => {
    const first = answer(200, page(['old'], 'next'));
    const { client, requests } = await serverOf(first, expired, first, expired, answer(200, page(['a', 'b'])));
    expect((await client.list(SERVICES, {})).items).toHaveLength(2);
    expect(requests.map(({ url }) => url!.includes('limit=500'))).toEqual([true, true, true, true, false]);
  });

  test('each time is an error where one piece would be too large', async () => {
    const first = answer(200, page(['old'], 'next'));
    const { client, requests } = await serverOf(first, expired, first, expired, first, expired);
    await expect(client.list(MCP_TOOL_LOCKS, {})).rejects.toMatchObject({ code: 410 });
    expect(requests.map(({ url }) => url!.includes('limit=20'))).toEqual(Array(6).fill(true));
  });
});

describe('a watch', () => {
  const line = (name: string): string => `${JSON.stringify({ type: 'ADDED', object: { metadata: { name } } })}\n`;
  const where = { resourceVersion: '1', timeoutSeconds: 60 };

  test('that is cut within a line, or whose line is no JSON, ends with an error that asks for a list', async () => {
    for (const rest of ['{"type":"ADD', 'nonsense\n']) {
      const { client } = await serverOf((response) => response.end(line('a') + rest));
      const seen: string[] = [];
      await expect(async () => {
        for await (const event of client.watch(CONFIG_MAPS, where, new AbortController().signal)) seen.push(event.type);
      }).rejects.toThrow(MalformedEventError);
      expect(seen).toEqual(['ADDED']);
    }
  });

  test('lives longer than a request may, and lets go of its connection when nobody listens any more', async () => {
    const closed = Promise.withResolvers<void>();
    const { client } = await serverWithin(600, (response) => {
      response.write(line('a'));
      const timer = setTimeout(() => response.write(line('b')), 900);
      response.on('close', () => {
        clearTimeout(timer);
        closed.resolve();
      });
    });
    const seen: unknown[] = [];
    for await (const event of client.watch(CONFIG_MAPS, where, new AbortController().signal)) {
      seen.push(event);
      if (seen.length === 2) break;
    }
    await closed.promise;
  });

  test('that is refused tells how', async () => {
    const { client } = await serverOf(answer(410, status(410, 'Expired')));
    await expect(async () => {
      for await (const _ of client.watch(CONFIG_MAPS, where, new AbortController().signal));
    }).rejects.toMatchObject({ name: 'ApiError', code: 410, reason: 'Expired' });
  });
});
