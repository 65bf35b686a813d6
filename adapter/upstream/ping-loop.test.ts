import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { CircuitBreaker } from './circuit-breaker.ts';
import { PingLoop, type PingResult, reason } from './ping-loop.ts';
import { StreamableHttpUpstream } from './streamable-http.ts';
import {
  answerError,
  answerResult,
  type Handler,
  type HttpUpstream,
  startHttpUpstream,
} from './testing/http-upstream.ts';

/** A server of the revisions with sessions. */
const legacy: Handler = (request, res) => {
  const { method } = request.message;
  if (request.method === 'DELETE') res.writeHead(200).end();
  else if (method === 'initialize')
    answerResult(request, res, { protocolVersion: '2025-11-25' }, { 'mcp-session-id': 'up-1' });
  else if (method === 'ping') answerResult(request, res, {});
  else res.writeHead(202).end();
};

describe('the ping loop', () => {
  let http: HttpUpstream;
  let upstream: StreamableHttpUpstream;
  let breaker: CircuitBreaker;
  let loop: PingLoop;
  let results: [boolean, string | null][];
  let told: PingResult[];

  beforeEach(async () => {
    http = await startHttpUpstream(legacy);
    upstream = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
    breaker = new CircuitBreaker({ failureThreshold: 2, openCooldownMs: 50, halfOpenProbeAllowance: 1 });
    results = [];
    told = [];
    loop = create();
  });
  afterEach(async () => {
    const closing = upstream.close();
    await loop.stop();
    await closing;
    await http.close();
  });

  function create(policy: { intervalMs?: number; timeoutMs?: number } = {}): PingLoop {
    return new PingLoop({
      upstream,
      breaker,
      policy: { intervalMs: 10, timeoutMs: 2000, ...policy },
      headers: ['content-type', 'application/json', 'x-api-key', 'k'],
      serverId: 's1',
      clientVersion: '1.2.3',
      onResult: (result) => {
        told.push(result);
        results.push([result.ok, result.error]);
      },
    });
  }

  const methods = (): (string | undefined)[] => http.requests.map(({ message, method }) => message.method ?? method);

  test('opens a session once and pings on it', async () => {
    expect([await loop.ping(), await loop.ping()]).toEqual([true, true]);
    expect(methods()).toEqual(['initialize', 'notifications/initialized', 'ping', 'ping']);
    expect(http.requests[0]?.message.params).toMatchObject({ clientInfo: { name: 'mcp-adapter', version: '1.2.3' } });
    expect(http.requests[2]?.headers).toMatchObject({
      'mcp-session-id': 'up-1',
      'mcp-protocol-version': '2025-11-25',
      'x-api-key': 'k',
    });
    expect(results).toEqual([
      [true, null],
      [true, null],
    ]);
    expect(loop.snapshot()).toMatchObject({
      interval_seconds: 0.01,
      timeout_seconds: 2,
      last_latency_ms: expect.any(Number),
      last_error: null,
      last_success_at: expect.any(Number),
      last_failure_at: null,
    });
  });

  test('opens another session when that one is gone', async () => {
    await loop.ping();
    http.handler = (request, res) => {
      if (request.message.method === 'ping' && http.requests.length === 4)
        answerError(request, res, 404, -32_001, 'Session not found');
      else legacy(request, res);
    };
    expect(await loop.ping()).toBe(true);
    expect(methods().slice(3)).toEqual(['ping', 'DELETE', 'initialize', 'notifications/initialized', 'ping']);
    expect(breaker.snapshot(Date.now())).toMatchObject({ state: 'closed', consecutive_failures: 0 });
  });

  test.each<[string, Handler]>([
    ['asks for credentials', (_request, res) => void res.writeHead(401).end()],
    ['refuses its credentials', (_request, res) => void res.writeHead(403).end()],
    [
      'speaks the sessionless revision only',
      (request, res) => {
        if (request.message.method === 'server/discover')
          answerResult(request, res, { supportedVersions: ['2026-07-28'] });
        else answerError(request, res, 400, -32_022, 'Unsupported protocol version');
      },
    ],
  ])('takes a server for alive that %s', async (_name, handler) => {
    http.handler = handler;
    expect(await loop.ping()).toBe(true);
    expect(methods()).not.toContain('ping');
  });

  test('takes one for alive that asks for other credentials meanwhile', async () => {
    await loop.ping();
    http.handler = (_request, res) => void res.writeHead(401).end();
    expect(await loop.ping()).toBe(true);
    expect(methods().slice(3)).toEqual(['ping']);
  });

  test('tells of each ping how long it took, how the breaker was, and whether it was the first that was answered', async () => {
    http.handler = (_request, res) => void res.destroy();
    expect([await loop.ping(), loop.isReached]).toEqual([false, false]);
    http.handler = legacy;
    expect([await loop.reach(), loop.isReached]).toEqual([true, true]);
    for (let i = 0; i < 3; i++) breaker.pingFailed(Date.now());
    http.handler = (_request, res) => void res.destroy();
    expect([await loop.reach(), loop.isReached]).toEqual([false, true]);
    expect(told).toEqual([
      { ok: false, error: expect.any(String), seconds: expect.any(Number), stateBefore: 'closed', wasReached: false },
      { ok: true, error: null, seconds: expect.any(Number), stateBefore: 'closed', wasReached: false },
      { ok: false, error: expect.any(String), seconds: expect.any(Number), stateBefore: 'open', wasReached: true },
    ]);
    expect(told.every(({ seconds }) => seconds > 0 && seconds < 5)).toBe(true);
  });

  test('counts failures in a row', async () => {
    const dead: Handler = (_request, res) => void res.destroy();
    for (const handler of [dead, legacy, dead, legacy, dead]) {
      http.handler = handler;
      expect(await loop.ping()).toBe(handler === legacy);
    }
    expect(breaker.snapshot(Date.now())).toMatchObject({ state: 'closed', consecutive_failures: 1 });
  });

  test('takes one for alive that knows no ping', async () => {
    http.handler = (request, res) =>
      request.message.method === 'ping'
        ? answerError(request, res, 200, -32_601, 'Method not found')
        : legacy(request, res);
    expect(await loop.ping()).toBe(true);
  });

  test.each<[string, Handler, string]>([
    ['breaks the connection', (_request, res) => void res.destroy(), 'other side closed'],
    ['answers with an error of its own', (_request, res) => void res.writeHead(500).end(), 'HTTP 500'],
    [
      'refuses initialize',
      (request, res) => answerError(request, res, 400, -32_602, 'No.'),
      'initialize was refused: No. (-32602)',
    ],
    [
      'answers pings with a page',
      (request, res) =>
        request.message.method === 'ping' ? void res.writeHead(200).end('<html>') : legacy(request, res),
      'ping was answered with HTTP 200',
    ],
    [
      'has no session for pings',
      (request, res) => (request.message.method === 'ping' ? void res.writeHead(404).end() : legacy(request, res)),
      'ping was answered with HTTP 404',
    ],
  ])('takes a server for dead that %s', async (_name, handler, error) => {
    http.handler = handler;
    expect(await loop.ping()).toBe(false);
    expect(loop.snapshot().last_error).toContain(error);
    expect(loop.snapshot().last_failure_at).not.toBeNull();
    expect(breaker.snapshot(Date.now())).toMatchObject({ consecutive_failures: 1 });
  });

  test('waits for an answer no longer than it may', async () => {
    http.handler = () => {};
    loop = create({ timeoutMs: 30 });
    expect(await loop.ping()).toBe(false);
    expect(loop.snapshot().last_error).toBe('no answer to initialize within 0.03 s');
  });

  test('says why a server cannot be reached', async () => {
    await http.close();
    expect(await loop.ping()).toBe(false);
    expect(loop.snapshot().last_error).toContain('ECONNREFUSED');
  });

  test('opens the breaker, asks nothing while it is open, and closes it again', async () => {
    http.handler = (_request, res) => void res.destroy();
    await loop.ping();
    await loop.ping();
    expect(breaker.state(Date.now())).toBe('open');
    const before = http.requests.length;
    http.handler = legacy;
    expect([await loop.ping(), http.requests.length]).toEqual([false, before]);
    await vi.waitFor(() => expect(breaker.state(Date.now())).toBe('half_open'));
    expect(await loop.ping()).toBe(true);
    expect(breaker.state(Date.now())).toBe('closed');
  });

  test('opens it again when the probe fails', async () => {
    http.handler = (_request, res) => void res.destroy();
    await loop.ping();
    await loop.ping();
    await vi.waitFor(() => expect(breaker.state(Date.now())).toBe('half_open'));
    expect(await loop.ping()).toBe(false);
    expect(breaker.state(Date.now())).toBe('open');
  });

  test('can ask without the breaker, while servers start', async () => {
    http.handler = (_request, res) => void res.destroy();
    for (let i = 0; i < 5; i++) expect(await loop.reach()).toBe(false);
    expect(breaker.snapshot(Date.now())).toMatchObject({ state: 'closed', consecutive_failures: 0 });
    expect(loop.snapshot().last_error).not.toBeNull();
    http.handler = legacy;
    expect(await loop.reach()).toBe(true);
    expect(loop.snapshot().last_error).toBeNull();
  });

  test('sends one ping for all who ask at the same time', async () => {
    const answers = await Promise.all([loop.ping(), loop.ping(), loop.reach()]);
    expect([answers, methods()]).toEqual([
      [true, true, true],
      ['initialize', 'notifications/initialized', 'ping'],
    ]);
  });

  test('goes on until it is stopped, and then ends its session', async () => {
    loop.start();
    await vi.waitFor(() => expect(methods().filter((one) => one === 'ping').length).toBeGreaterThan(2));
    await loop.stop();
    const count = http.requests.length;
    expect(methods().at(-1)).toBe('DELETE');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(http.requests.length).toBe(count);
  });

  test('is stopped even while a server leaves it without an answer', async () => {
    http.handler = () => {};
    loop = create({ timeoutMs: 60_000 });
    loop.start();
    await http.seen(1);
    await loop.stop();
    await upstream.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(results).toEqual([]);
  });

  test('does not go on after a ping that was under way when it was stopped', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<() => void>();
    http.handler = (request, res) =>
      request.message.method === 'ping' ? ask(() => legacy(request, res)) : legacy(request, res);
    loop.start();
    const answer = await asked;
    const stopping = loop.stop();
    answer();
    await stopping;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(methods()).toEqual(['initialize', 'notifications/initialized', 'ping', 'DELETE']);
  });
});

test('the reason of a failure is the innermost one', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:1');
  expect(reason(new Error('fetch failed', { cause: new Error('x', { cause: refused }) }))).toBe(refused.message);
  expect(reason(new Error('fetch failed', { cause: new AggregateError([refused, new Error('other')]) }))).toBe(
    refused.message,
  );
  expect(reason(new TypeError(''))).toBe('TypeError');
  expect(reason('text')).toBe('text');
  const loop = new Error('loop');
  loop.cause = loop;
  expect(reason(loop)).toBe('loop');
});
