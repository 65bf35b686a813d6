import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { AdapterError } from '../errors.ts';
import { holdConnections } from '../../lib/net/testing/hold-connections.ts';
import { createRedaction } from '../../lib/redaction/redact.ts';
import { createLogger, type LogLevel } from '../telemetry/logs/logger.ts';
import type { RequestObservation } from '../telemetry/telemetry.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { sampleIdentification } from '../identity/testing/sample-identification.ts';
import { HostNames } from './host-names.ts';
import { type CorsSettings, OriginPolicy } from './origin.ts';
import { closeServer, createServer } from './server.ts';

const CORS: CorsSettings = {
  enabled: true,
  allowed_origins: ['https://app.example'],
  allowed_methods: ['POST', 'GET'],
  allowed_headers: ['*'],
  allow_credentials: false,
};

describe('the HTTP server', () => {
  let app: ReturnType<typeof createServer>;
  let port: number;
  let draining: boolean;
  let lines: Record<string, unknown>[];
  let telemetry: RecordingTelemetry;
  let arrived: PromiseWithResolvers<void>;
  const sockets: Socket[] = [];

  beforeEach(() => {
    draining = false;
    lines = [];
    telemetry = new RecordingTelemetry();
    arrived = Promise.withResolvers();
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await closeServer(app, 100);
  });

  async function start(options: { auth?: boolean; level?: LogLevel; identify?: () => never } = {}): Promise<void> {
    const { identify } = options;
    app = createServer({
      identification: {
        ...sampleIdentification(options.auth === true ? 'right' : undefined),
        ...(identify === undefined ? {} : { identify }),
      },
      hosts: new HostNames({ allowed: [], publicBaseUrl: null, boundHost: '127.0.0.1', machine: 'machine' }),
      origins: new OriginPolicy(CORS, { publicBaseUrl: null, boundHost: '127.0.0.1' }),
      trustedProxies: [],
      connections: { max: 1000, perPeer: null, isProxy: () => false, warn: () => undefined },
      isDraining: () => draining,
      isMount: (path) => path === '/mount',
      telemetry,
      logger: createLogger(options.level ?? 'critical', createRedaction(), {
        write: (line) => void lines.push(JSON.parse(line)),
      }),
    });
    for (const url of ['/plain', '/mount', '/healthz']) {
      app.post(url, (request) => ({ principal: request.principal }));
      app.get(url, () => ({ ok: true }));
    }
    app.get('/own', { config: { decidesItself: true } }, ({ refusal }) => ({ code: refusal?.code ?? 'none' }));
    app.get('/own-error', { config: { decidesItself: true } }, ({ refusal }) => {
      throw refusal ?? new Error('let in');
    });
    app.get('/of/:server', { config: { routeGroup: '/of/{server_id}' } }, ({ attributes }) => {
      attributes.rpcMethod = 'tools/list';
      return 'hello';
    });
    app.get('/mcp', { config: { routeGroup: '/mcp', serverId: 's1' } }, (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: x\n\n');
    });
    app.get('/waiting', ({ attributes }, reply) => {
      reply.hijack();
      arrived.resolve();
      reply.raw.once('close', () => (attributes.outcome = 'client_closed'));
    });
    app.post('/reading', (request, reply) => {
      reply.hijack();
      request.raw.resume();
    });
    app.get('/limit', () => {
      throw new AdapterError('sessions_limit', 'Full.', { retryAfter: 7 });
    });
    app.get('/stream', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200).write('first');
    });
    app.get('/broken', () => {
      throw new Error('secret detail');
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.server.address();
    port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  const get = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, init);
  const seen = async (response: Response): Promise<[number, unknown]> => [response.status, await response.json()];

  async function raw(bytes: string): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  }

  test('M3 T17: answers while more connections are held than there may be', async () => {
    await start();
    using _held = await holdConnections(`http://127.0.0.1:${port}`, 1100);
    expect((await fetch(`http://127.0.0.1:${port}/plain`, { signal: AbortSignal.timeout(5000) })).status).toBe(200);
  });

  test('answers errors in one shape, and those of mounts as JSON-RPC', async () => {
    await start();
    expect(await seen(await get('/nothing'))).toEqual([
      404,
      { detail: 'There is nothing at this path.', code: 'not_found' },
    ]);
    expect(await seen(await get('/mount/?a=1', { method: 'PUT' }))).toEqual([
      404,
      {
        jsonrpc: '2.0',
        id: null,
        error: { code: 404, message: 'There is nothing at this path.', data: { code: 'not_found' } },
      },
    ]);
    const limit = await get('/limit');
    expect([limit.headers.get('retry-after'), ...(await seen(limit))]).toEqual([
      '7',
      429,
      { detail: 'Full.', code: 'sessions_limit' },
    ]);
  });

  test('says nothing about failures of its own but to the log', async () => {
    await start({ level: 'error' });
    expect(await seen(await get('/broken'))).toEqual([500, { detail: 'Internal error.', code: 'internal' }]);
    expect(lines).toMatchObject([{ level: 'error', msg: 'request failed', err: { message: 'secret detail' } }]);
  });

  test.each(['/plain', '/own', '/own-error'])('logs once that a token could not be checked, at %s', async (path) => {
    const identify = (): never => {
      throw new RangeError('secret detail');
    };
    await start({ level: 'error', identify });
    expect((await get(path)).status).toBe(path === '/own' ? 200 : 500);
    expect(lines).toMatchObject([
      { level: 'error', msg: 'request failed', err: { message: expect.stringContaining('secret detail') } },
    ]);
  });

  test.each(['/%', '/%zz', '/mount/%E0%A4%A', '/a%c3'])('answers 400 for the path %s', async (path) => {
    await start();
    const socket = await raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('{"detail":"The path is not valid.","code":"bad_request"}');
    expect(answer).toMatch(/\r\nx-request-id: [\w-]{8,}\r\n/);
  });

  test('asks for the token everywhere but at health checks, before it reads a body', async () => {
    await start({ auth: true });
    for (const path of ['/plain', '/mount', '/nothing', '/healthz/x', '/%68ealthz']) {
      expect((await get(path)).status).toBe(401);
      expect((await get(path, { method: 'POST', body: 'x'.repeat(2000) })).status).toBe(401);
    }
    expect(await seen(await get('/plain'))).toEqual([
      401,
      { detail: 'The header X-Token is missing or wrong.', code: 'unauthorized' },
    ]);
    expect((await get('/healthz')).status).toBe(200);
    const allowed = await get('/plain', { method: 'POST', body: 'b', headers: { 'x-token': 'right' } });
    expect(await seen(allowed)).toEqual([200, { principal: 'hash of the token' }]);
  });

  test('checks Host, Origin and the token in this order, and answers preflights before the token', async () => {
    await start({ auth: true });
    const socket = await raw(
      'GET /healthz HTTP/1.1\r\nHost: evil.example\r\nOrigin: https://evil.example\r\nConnection: close\r\n\r\n',
    );
    expect(await text(socket)).toContain('forbidden_host');
    expect(await seen(await get('/plain', { headers: { origin: 'https://evil.example' } }))).toMatchObject([
      403,
      { code: 'forbidden_origin' },
    ]);
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const preflight = await get('/mount', { method: 'OPTIONS', headers });
    expect(preflight.headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/);
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ]);
    const denied = await get('/plain', { headers: { origin: 'https://app.example' } });
    expect([denied.status, denied.headers.get('access-control-allow-origin')]).toEqual([401, 'https://app.example']);
    expect((await get('/mount', { method: 'OPTIONS', headers: { origin: 'https://app.example' } })).status).toBe(401);
  });

  test('gives every request an id of its own', async () => {
    await start();
    const ids = await Promise.all(
      ['/plain', '/nothing', '/limit', '/plain'].map(async (path) => (await get(path)).headers.get('x-request-id')),
    );
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[\w-]{8,}$/);
  });

  test('writes a line for every request, and no more of what came than fits in one', async () => {
    await start({ level: 'info' });
    await get(`/${'x'.repeat(5000)}?token=abc`);
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toMatchObject({
      level: 'info',
      msg: 'request',
      http_method: 'GET',
      status: 404,
      outcome: 'not_found',
    });
    expect(lines[0]?.['path']).toBe(`/${'x'.repeat(199)}`);
    expect(lines[0]?.['ms']).toEqual(expect.any(Number));
  });

  test.each([
    ['a path that is not there', '', 'GET', 'not_found'],
    ['a path that is cut off', `/${'x'.repeat(170)}`, 'GET', 'not_found'],
    ['a request without the token', '', 'PUT', 'unauthorized'],
    ['a preflight', '', 'OPTIONS', undefined],
  ])('does not write a whole session id: %s', async (_what, before, method, outcome) => {
    await start({ level: 'info', auth: outcome === 'unauthorized' });
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'GET' };
    await get(`${before}/artifacts/s1/${'0123456789abcdef'.repeat(2)}/name`, { method, headers });
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    expect(lines[0]?.['outcome']).toBe(outcome);
    expect(lines[0]?.['path']).toContain('/artifacts/s1/01234567…');
    expect(JSON.stringify(lines)).not.toContain('012345678');
  });

  test('asks clients to leave while it drains', async () => {
    await start();
    expect((await get('/plain')).headers.get('connection')).toBe('keep-alive');
    draining = true;
    expect((await get('/plain')).headers.get('connection')).toBe('close');
  });

  test.each([
    ['without the token', '/plain', '', 401],
    ['at a path that is not there', '/nothing', 'X-Token: right\r\n', 404],
  ])('T17: reads no large body %s', async (_what, path, token, status) => {
    await start({ auth: true });
    const socket = await raw(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${token}Content-Length: 16777216\r\n\r\n{`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*connection: close\\r\\n`, 's'));
    const closed = once(socket, 'close');
    socket.end();
    await closed;
  });

  test('lets routes decide themselves only where they say so', async () => {
    await start({ auth: true });
    expect(await seen(await get('/own'))).toEqual([200, { code: 'unauthorized' }]);
    expect(await seen(await get('/own', { headers: { 'x-token': 'right' } }))).toEqual([200, { code: 'none' }]);
    const foreign = { origin: 'https://evil.example', 'x-token': 'right' };
    expect(await seen(await get('/own', { headers: foreign }))).toEqual([200, { code: 'forbidden_origin' }]);
    expect((await get('/plain')).status).toBe(401);
  });

  describe('tells telemetry', () => {
    const observed = async (count: number): Promise<RequestObservation[]> => {
      await vi.waitFor(() => expect(telemetry.of('request')).toHaveLength(count));
      return telemetry.of('request');
    };

    test('of each request once, when its answer has left, with what was found out on its way', async () => {
      await start();
      await (await get('/of/s7?token=abc')).text();
      const [one] = await observed(1);
      expect(one).toEqual({
        serverId: 's7',
        method: 'GET',
        route: '/of/{server_id}',
        status: 200,
        seconds: expect.any(Number),
        principal: '',
        bytesIn: 0,
        bytesOut: expect.any(Number),
        isEventStream: false,
        attributes: { requestId: expect.any(String), rpcMethod: 'tools/list' },
      });
      expect(one?.seconds).toBeGreaterThan(0);
      expect(one?.seconds).toBeLessThan(10);
      expect(one?.bytesOut).toBeGreaterThan('hello'.length);
      expect(one?.bytesOut).toBeLessThan(1000);
    });

    test('of refused requests too, whatever they asked for, and never with a path that was chosen by them', async () => {
      await start({ auth: true });
      for (const path of ['/of/s7', '/nothing/x', '/.well-known/oauth-authorization-server/x', '/mcp']) await get(path);
      const socket = await raw('GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      await text(socket);
      const all = await observed(5);
      expect(
        all.map(({ serverId, route, status, attributes }) => [serverId, route, status, attributes.outcome]),
      ).toEqual([
        ['s7', '/of/{server_id}', 401, 'unauthorized'],
        [undefined, 'unmatched', 401, 'unauthorized'],
        [undefined, '/.well-known/*', 401, 'unauthorized'],
        ['s1', '/mcp', 401, 'unauthorized'],
        [undefined, 'unmatched', 400, 'invalid_request'],
      ]);
      expect(all.some(({ isEventStream }) => isEventStream)).toBe(false);
    });

    test('how much came, and which answers are event streams', async () => {
      await start();
      await (await get('/mcp')).text();
      await get('/plain', { method: 'POST', body: 'x'.repeat(700) });
      const [stream, body] = await observed(2);
      expect([stream?.isEventStream, stream?.serverId, body?.isEventStream, body?.bytesIn]).toEqual([
        true,
        's1',
        false,
        700,
      ]);
    });

    test('of a client that has gone, after all others have heard of it', async () => {
      await start({ level: 'info' });
      const socket = await raw('GET /waiting HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await arrived.promise;
      socket.destroy();
      const [gone] = await observed(1);
      expect([gone?.status, gone?.attributes.outcome]).toEqual([499, 'client_closed']);
      expect(lines).toMatchObject([{ status: 499, outcome: 'client_closed' }]);
    });
  });

  describe('on a connection without a request', () => {
    test.each<[string, string, string, string]>([
      ['no HTTP', 'garbage\r\n\r\n', '400 Bad Request', 'bad_request'],
      ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400 Bad Request', 'bad_request'],
      [
        'two lengths',
        'POST /plain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
        '400 Bad Request',
        'bad_request',
      ],
      ['no host', 'GET /plain HTTP/1.1\r\n\r\n', '400 Bad Request', ''],
      [
        'large headers',
        `GET /plain HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
        '431 Request Header Fields Too Large',
        'headers_too_large',
      ],
      [
        'large chunk extensions',
        `POST /reading HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\n`,
        '413 Payload Too Large',
        'body_too_large',
      ],
    ])('says so and closes it: %s', async (_name, bytes, status, code) => {
      await start();
      const answer = await text(await raw(bytes));
      expect(answer.startsWith(`HTTP/1.1 ${status}\r\n`)).toBe(true);
      expect(answer).toMatch(/\r\nConnection: close\r\n/i);
      if (code === '') return;
      const [, body = ''] = answer.split('\r\n\r\n');
      expect(JSON.parse(body)).toMatchObject({ code, detail: expect.any(String) });
      expect(answer).toContain(`Content-Length: ${body.length}\r\n`);
    });

    test('puts nothing into an answer that is being written', async () => {
      await start();
      const socket = await raw('GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(socket, 'data');
      const rest = text(socket);
      socket.write('garbage\r\n\r\n');
      expect(await rest.catch(() => '')).toBe('');
    });
  });

  describe('that is closed', () => {
    test('lets an answer leave first, and then closes its connection', async () => {
      await start();
      const { promise, resolve } = Promise.withResolvers<void>();
      app.server.removeAllListeners('request');
      app.server.on('request', (_req, res) => {
        res.writeHead(200).write('first ');
        void promise.then(() => res.end('last'));
      });
      const socket = await raw('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(socket, 'data');
      const rest = text(socket);
      const closing = closeServer(app, 60_000);
      setImmediate(resolve);
      await closing;
      expect(await rest).toContain('last');
    });

    test('closes connections that wait for another request at once, and half-open ones when the time is over', async () => {
      await start();
      const idle = await raw('GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(idle, 'data');
      const half = await raw('POST /plain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nx');
      const gone = Promise.all([once(idle, 'close'), once(half, 'close')]);
      idle.resume();
      half.resume();
      await closeServer(app, 100);
      await gone;
    });
  });
});
