import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { holdConnections } from '../../lib/net/testing/hold-connections.ts';
import { healthObject } from './health.ts';
import { createLogger } from '../logger.ts';
import { ok } from '../../lib/http/answer.ts';
import { bearerToken } from '../../lib/http/bearer-token.ts';
import { healthRoutes } from './health-routes.ts';
import { HttpServer, type HttpServerOptions } from '../../lib/http/http-server.ts';
import { MAX_BODY_BYTES } from '../../lib/http/request-body.ts';
import type { Call } from '../../lib/http/route.ts';

const health = healthObject({
  version: '1',
  configHash: '0123456789abcdef',
  configError: 'why',
  referencesChanged: true,
  sources: [],
});

let server: HttpServer;
let port: number;
let url: string;
let reason: string | undefined;
let logged: string;
let calls: Call[];

async function start(changes: Partial<HttpServerOptions> = {}): Promise<void> {
  server = new HttpServer({
    open: healthRoutes({ health: () => health, notReady: () => reason }),
    admin: {
      routes: [
        { method: 'GET', path: '/things/{name}', answer: (call) => (calls.push(call), ok({ name: call.name })) },
        { method: 'POST', path: '/things/{name}', answer: (call) => (calls.push(call), ok({ name: call.name })) },
      ],
      hasToken: bearerToken('right'),
      names: 'source',
    },
    logger: createLogger('debug', () => [], { write: (line) => void (logged += line) }),
    ...changes,
  });
  url = await server.listen('127.0.0.1', 0);
  port = Number(new URL(url).port);
}

beforeEach(() => {
  reason = undefined;
  logged = '';
  calls = [];
});
afterEach(() => server.close());

const get = async (path: string, method = 'GET') => {
  const response = await fetch(url + path, { method, signal: AbortSignal.timeout(5000) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
};

/** Sends bytes as they are and returns what comes back until the server ends the connection. */
async function raw(bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(5000, () => socket.destroy(new Error('no answer')));
  socket.write(bytes);
  return text(socket).catch((error: unknown) => `broken: ${String(error)}`);
}

const request = (line: string, headers: readonly string[] = [], body = ''): string =>
  `${line} HTTP/1.1\r\n${['Host: x', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n${body}`;
const AUTH = 'Authorization: Bearer right';
const statusOf = (answer: string): string => answer.slice(0, answer.indexOf('\r\n'));
const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);

describe.each([true, false])('health checks, with the admin API: %s', (isOn) => {
  beforeEach(() => start(isOn ? {} : { admin: undefined }));

  test('are alive and ready', async () => {
    expect(await get('/livez')).toEqual({ status: 200, body: { status: 'ok' } });
    expect(await get('/readyz?verbose')).toEqual({ status: 200, body: { status: 'ok' } });
  });

  test('say why the program is not ready, and that it is alive', async () => {
    reason = 'draining';
    expect(await get('/readyz')).toEqual({ status: 503, body: { status: 'unavailable', reason: 'draining' } });
    expect((await get('/livez')).status).toBe(200);
  });

  test('show the health object, and the answer of the original', async () => {
    expect(await get('/healthz')).toEqual({ status: 200, body: health });
    expect(await get('/health')).toEqual({ status: 200, body: { status: 'ok' } });
  });

  test.each<[string, string, number, unknown]>([
    ['POST', '/healthz', 405, { detail: 'Method Not Allowed' }],
    ['DELETE', '/health', 405, { detail: 'Method Not Allowed' }],
    ['HEAD', '/healthz', 200, undefined],
  ])('%s %s gives %i', async (method, path, status, body) => {
    expect(await get(path, method)).toEqual({ status, body });
  });
});

test.each(['/', '/constructor', '/sources', '/config', '/things/a'])(
  'without the admin API there is no %s',
  async (path) => {
    await start({ admin: undefined });
    for (const headers of [{}, { Authorization: 'Bearer right' }, { Authorization: 'Bearer ' }]) {
      const response = await fetch(url + path, { headers: headers as Record<string, string> });
      expect([response.status, await response.json()]).toEqual([404, { detail: 'Not Found' }]);
    }
  },
);

describe('hostile requests', () => {
  beforeEach(() => start());

  test.each<[string, string, string, string]>([
    ['no token', request('GET /things/a'), '401', 'Authorization: Bearer'],
    ['no token for what is not there', request('GET /none'), '401', ''],
    ['no token and a wrong method', request('DELETE /things/a'), '401', ''],
    ['no token and a body', request('POST /things/a', ['Content-Length: 2'], '{}'), '401', ''],
    ['two tokens', request('GET /things/a', ['Authorization: Bearer wrong', AUTH]), '401', ''],
    ['a token that is too long', request('GET /things/a', [`Authorization: Bearer ${'x'.repeat(20_000)}`]), '431', ''],
    ['a token in the query', request('GET /things/a?token=right&access_token=right'), '401', ''],
    ['what is not there', request('GET /none', [AUTH]), '404', '{"detail":"Not Found"}'],
    ['dots', request('GET /things/../../etc/passwd', [AUTH]), '404', '{"detail":"Not Found"}'],
    ['dots around the open paths', request('GET /livez/../things/a'), '401', ''],
    ['a health check with a slash before it', request('GET //livez'), '401', ''],
    ['encoded dots', request('GET /things/%2e%2e', [AUTH]), '200', '{"name":".."}'],
    ['an encoded path', request('GET /things/..%2f..%2fetc%2fpasswd', [AUTH]), '200', '{"name":"../../etc/passwd"}'],
    ['an encoded NUL', request('GET /things/a%00b', [AUTH]), '200', '{"name":"a\\u0000b"}'],
    ['broken encoding', request('GET /things/%', [AUTH]), '400', 'percent-encoded'],
    ['encoded bytes that are no UTF-8', request('GET /things/%c0%af', [AUTH]), '400', 'percent-encoded'],
    ['an absolute URL', request('GET http://169.254.169.254/things/a', [AUTH]), '404', '{"detail":"Not Found"}'],
    ['an asterisk', request('OPTIONS *', [AUTH]), '404', ''],
    ['a long name', request(`GET /things/${'x'.repeat(10_000)}`, [AUTH]), '200', '{"name":"xxx'],
    ['a name that is too long', request(`GET /things/${'x'.repeat(20_000)}`, [AUTH]), '431', ''],
    ['a method that is none', request('BREW /things/a', [AUTH]), '400', ''],
    ['a wrong method', request('PATCH /things/a', [AUTH]), '405', '{"detail":"Method Not Allowed"}'],
    ['a tunnel', request('CONNECT example.com:443', [AUTH]), '', ''],
    ['no HTTP', 'hello\r\n\r\n', '400', ''],
    ['TLS', Buffer.from('16030100050100000100', 'hex').toString('latin1'), '400', ''],
    [
      'two lengths',
      request('POST /things/a', [AUTH, 'Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      '400',
      '',
    ],
    [
      'a length that is too large',
      request('POST /things/a', [AUTH, `Content-Length: ${MAX_BODY_BYTES + 1}`], 'x'.repeat(MAX_BODY_BYTES + 1)),
      '413',
      'longer than 65536 bytes',
    ],
    [
      'a body of unknown length that is too large',
      request(
        'POST /things/a',
        [AUTH, 'Transfer-Encoding: chunked'],
        `ffff\r\n${'x'.repeat(0xffff)}\r\nffff\r\n${'x'.repeat(0xffff)}\r\n0\r\n\r\n`,
      ),
      '413',
      'longer than 65536 bytes',
    ],
    ['a GET with a body', request('GET /things/a', [AUTH, 'Content-Length: 3'], 'abc'), '200', '{"name":"a"}'],
  ])('%s', async (_, bytes, status, body) => {
    const answer = await raw(bytes);
    expect(statusOf(answer)).toMatch(status === '' ? /^$/ : new RegExp(`^HTTP/1.1 ${status} `));
    expect(bodyOf(answer)).toContain(body);
    // Nothing of it has done harm.
    expect((await get('/livez')).status).toBe(200);
    expect(logged).not.toMatch(/"level":"(warning|error|critical)"/);
    expect(logged).not.toContain('right');
  });

  test('answers are not kept or guessed at by anybody', async () => {
    const answer = await raw(request('GET /things/a', [AUTH]));
    expect(answer).toMatch(/^Content-Type: application\/json\r$/m);
    expect(answer).toMatch(/^Cache-Control: no-store\r$/m);
    expect(answer).toMatch(/^X-Content-Type-Options: nosniff\r$/m);
    expect(answer).not.toMatch(/access-control/i);
  });

  test('a route is told of the query, the body and its type', async () => {
    await raw(
      request(
        'POST /things/a?x=1&y=%20',
        [AUTH, 'Content-Type: Application/JSON; charset=x', 'Content-Length: 2'],
        '{}',
      ),
    );
    const [call] = calls;
    expect([call?.query.get('x'), call?.query.get('y'), call?.contentType, call?.body.toString()]).toEqual([
      '1',
      ' ',
      'application/json',
      '{}',
    ]);
  });

  test('the answer to a body without end comes at once, and its connection ends', async () => {
    const socket = connect(port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.write('POST /things/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const part = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const flood = (): void => {
      while (!socket.destroyed && socket.write(part));
    };
    socket.on('drain', flood);
    const [first] = (await once(socket, 'data')) as [Buffer];
    flood();
    expect(statusOf(first.toString())).toContain('401');
    await closed;
  });

  test('one that leaves in the middle of its body is no failure', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(request('POST /things/a', [AUTH, 'Content-Length: 10'], 'abc'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(calls).toEqual([]);
    expect(logged).not.toMatch(/"level":"error"/);
  });

  test('many at once are all answered', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => get(index % 2 === 0 ? '/livez' : '/x')),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401]));
  });
});

describe('the port', () => {
  beforeEach(() => start());

  test('that is taken cannot be opened', async () => {
    const second = new HttpServer({ open: [], admin: undefined, logger: createLogger('debug', () => []) });
    await expect(second.listen('127.0.0.1', port)).rejects.toThrow('EADDRINUSE');
    await second.close();
  });

  test('closes although a client holds its connection', async () => {
    const socket: Socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    // The answer to the first request says that the start of the second one has arrived.
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\n');
    await once(socket, 'data');
    await server.close();
    socket.destroy();
  });
});

test('M3 T17: answers while a thousand connections are held that ask for nothing', async () => {
  await start();
  using _held = await holdConnections(url);
  expect((await get('/livez')).status).toBe(200);
});
