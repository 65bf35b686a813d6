import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SqliteStore } from '../../adapter/state/sqlite/sqlite-store.ts';
import { runAdapter, startAdapter } from '../support/adapter-process.ts';
import { listen } from '../support/ports.ts';
import { type RawHandler, startRawUpstream } from '../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { leaveOrphan, sharedFolder } from './files/kit/folder.ts';
import { mounted } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { type InProcessAdapter, startInProcess } from './kit/in-process.ts';
import { type Door, drain, initialize, knownSession, openSession, type SessionOptions, textOf } from './kit/session.ts';
import { secret } from '../support/secrets/secret.ts';

/** An upstream and an adapter in front of it, with some things about its configuration different. */
async function start(config: JsonObject = {}, server: JsonObject = {}) {
  await using opened = new AsyncDisposableStack();
  const upstream = opened.use(await startScriptedUpstream());
  const adapter = opened.use(await startInProcess({ servers: [mounted('up', upstream.url, server)], ...config }));
  const running = opened.move();
  return { upstream, adapter, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** An adapter in front of an upstream that answers as it is told. */
async function startBefore(handler: RawHandler, server: JsonObject = {}) {
  await using opened = new AsyncDisposableStack();
  const upstream = opened.use(await startRawUpstream(handler));
  const adapter = opened.use(await startInProcess({ servers: [mounted('up', `${upstream.url}/mcp`, server)] }));
  const running = opened.move();
  return { upstream, adapter, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

const open = async (adapter: InProcessAdapter, options: SessionOptions = {}): Promise<Door> =>
  (await openSession(adapter, options)).at(adapter);

/** Status, the headers that say what to do about it, and the body. */
async function seen(answer: Promise<Response>): Promise<JsonObject> {
  const response = await answer;
  const text = await response.text();
  const names = ['retry-after', 'allow', 'www-authenticate', 'mcp-session-id'];
  const headers = names.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  expect(response.headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/);
  expect(response.headers.get('content-type')).toMatch(/^application\/json(; charset=utf-8)?$/);
  return { status: response.status, ...Object.fromEntries(headers), body: JSON.parse(text) };
}

/** The JSON-RPC error of a mount. */
const rpc = (id: unknown, code: number, message: string, name: string): JsonObject => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, data: { code: name } },
});

const TOKEN = secret('token of the clients');
const AUTH = { core: { auth: { enabled: true, token: TOKEN } } };
const TERMINATED = 'Session terminated: the upstream ended its session.';

describe('a client without the token', () => {
  test('is refused with 401, in the shape of the route', async () => {
    await using at = await start(AUTH);
    const detail = 'The header X-Mcp-Adapter-Auth-Token is missing or wrong.';
    expect(await seen(initialize(at.adapter))).toEqual({ status: 401, body: rpc('init', 401, detail, 'unauthorized') });
    expect(await seen(fetch(`${at.adapter.url}/nothing`))).toEqual({
      status: 401,
      body: { detail, code: 'unauthorized' },
    });
    expect(at.upstream.requests).toEqual([]);
  });
});

describe('a request without a required header', () => {
  const server = { upstream: { client_headers: { required: ['X-Tenant'] } } };
  const body = (id: unknown) =>
    rpc(id, -32_600, 'The header x-tenant is required by this server and is missing.', 'missing_client_header');

  test('is refused with 400 before anything reaches the upstream, whatever it is', async () => {
    await using at = await start({}, server);
    for (const headers of [undefined, { 'x-tenant': '' }]) {
      expect(await seen(initialize(at.adapter, { headers }))).toEqual({ status: 400, body: body('init') });
    }
    const door = knownSession('0'.repeat(32), '2025-11-25').at(at.adapter);
    expect(await seen(door.stream())).toEqual({ status: 400, body: body(null) });
    expect(await seen(door.end())).toEqual({ status: 400, body: body(null) });
    expect(at.upstream.requests).toEqual([]);
    expect(await drain(initialize(at.adapter, { headers: { 'X-TENANT': 'blue' } }))).toBe(200);
  });

  test('is refused in a session too', async () => {
    await using at = await start({}, server);
    const { sessionId } = await openSession(at.adapter, { headers: { 'x-tenant': 'blue' } });
    const door = knownSession(sessionId, '2025-11-25').at(at.adapter);
    expect(await seen(door.request('ping'))).toEqual({ status: 400, body: body(1) });
  });
});

describe('limits', () => {
  test('max_active refuses new sessions with 429 until one ends', async () => {
    await using at = await start({ sessions: { max_active: 2 } });
    const first = await open(at.adapter);
    await open(at.adapter);
    expect(await seen(initialize(at.adapter))).toEqual({
      status: 429,
      'retry-after': '10',
      body: rpc(
        'init',
        429,
        'The maximum of 2 active sessions is reached; try again when one has ended.',
        'sessions_limit',
      ),
    });
    expect(at.upstream.initializes).toHaveLength(2);
    expect(await drain(first.end())).toBe(200);
    expect(await drain(initialize(at.adapter))).toBe(200);
  });

  test('a session that the upstream refuses takes no place', async () => {
    await using at = await start({ sessions: { max_active: 1 } });
    at.upstream.behavior.intercept = () => ({ status: 500, body: 'no' });
    for (let i = 0; i < 3; i += 1) expect(await drain(initialize(at.adapter))).toBe(502);
    at.upstream.behavior.intercept = () => undefined;
    expect(await drain(initialize(at.adapter))).toBe(200);
  });

  test('a session of the revision that has none is refused, and ended upstream', async () => {
    await using at = await start({ sessions: { max_active: 1 } });
    const { behavior, sessions } = at.upstream;
    behavior.versions = ['2026-07-28'];
    const { status, body } = await seen(initialize(at.adapter));
    expect([status, body]).toEqual([
      502,
      rpc(
        'init',
        502,
        'The upstream server opened a session of revision 2026-07-28, which has none.',
        'upstream_failed',
      ),
    ]);
    await expect.poll(() => sessions.size).toBe(0);
    behavior.versions = ['2025-11-25'];
    expect(await drain(initialize(at.adapter))).toBe(200);
  });

  test('max_in_flight_per_session refuses further calls with 429 until one has ended', async () => {
    await using at = await start({ sessions: { max_in_flight_per_session: 1 } });
    const door = await open(at.adapter);
    const running = door.tool('slow');
    await at.upstream.waitForMessage('tools/call');
    const call = { name: 'echo', arguments: {} };
    expect(await seen(door.request('tools/call', call))).toEqual({
      status: 429,
      'retry-after': '1',
      body: rpc(2, 429, 'The session has 1 tool calls in flight, which is the maximum.', 'in_flight_limit'),
    });
    // Only tool calls count, and only those of this session.
    expect(await drain(door.request('tools/list'))).toBe(200);
    expect(textOf(await (await open(at.adapter)).tool('echo', { a: 1 }))).toBe('{"a":1}');
    at.upstream.release('slow');
    expect(textOf(await running)).toBe('done');
    expect(textOf(await door.tool('echo', { a: 2 }))).toBe('{"a":2}');
  });
});

describe('an upstream that is down', () => {
  test('makes requests 503 while the breaker is open, and health 503', async () => {
    const ping = { enabled: true, interval_seconds: 0.02, failure_threshold: 1, open_cooldown_seconds: 40 };
    await using at = await start({ core: { upstream_ping: ping } });
    const door = await open(at.adapter);
    await eventually(() => drain(fetch(`${at.adapter.url}/healthz`))).toBe(200);
    await at.upstream.die();
    await eventually(() => drain(fetch(`${at.adapter.url}/healthz`))).toBe(503);
    await eventually(() => drain(door.request('ping'))).toBe(503);
    const body = (id: unknown) =>
      rpc(id, 503, 'The upstream server "up" is unhealthy; requests are rejected for now.', 'upstream_unavailable');
    for (const [answer, id] of [
      [initialize(at.adapter), 'init'],
      [door.stream(), null],
    ] as const) {
      const { 'retry-after': retryAfter, ...rest } = await seen(answer);
      expect(rest).toEqual({ status: 503, body: body(id) });
      expect(Number(retryAfter)).toBeGreaterThan(30);
      expect(Number(retryAfter)).toBeLessThanOrEqual(40);
    }
    const health = await fetch(`${at.adapter.url}/healthz`);
    expect([health.status, await health.json()]).toEqual([
      503,
      expect.objectContaining({
        status: 'degraded',
        degraded_reason: 'upstream_unhealthy',
        servers: [
          expect.objectContaining({
            server_id: 'up',
            status: 'degraded',
            breaker: expect.objectContaining({ state: 'open' }),
          }),
        ],
      }),
    ]);
  });

  test('is 502 while nobody has found out', async () => {
    await using at = await start();
    const door = await open(at.adapter);
    await at.upstream.die();
    expect(await seen(door.request('ping'))).toMatchObject({
      status: 502,
      body: rpc(1, 502, 'The upstream server could not be reached.', 'upstream_unreachable'),
    });
    expect(await seen(initialize(at.adapter))).toEqual({
      status: 502,
      body: rpc('init', 502, 'The upstream server could not be reached.', 'upstream_unreachable'),
    });
    expect(await seen(door.stream())).toMatchObject({ status: 502, body: { id: null } });
  });

  test('is 502 when it breaks off, and nothing is sent a second time', async () => {
    await using at = await start();
    const door = await open(at.adapter);
    at.upstream.behavior.intercept = ({ text }) => (text.includes('tools/call') ? 'destroy' : undefined);
    expect(await seen(door.request('tools/call', { name: 'echo' }))).toMatchObject({
      status: 502,
      body: rpc(1, 502, 'The upstream server failed to answer.', 'upstream_failed'),
    });
    expect(at.upstream.requestsOf('tools/call')).toHaveLength(1);
  });
});

describe('an upstream session that has ended', () => {
  /** From now on every session is unknown the first `times` times that a tool is called. */
  function forgetting(upstream: ScriptedUpstream, times: number): void {
    let left = times;
    upstream.behavior.intercept = ({ text }) => {
      if (!text.includes('tools/call') || left === 0) return undefined;
      left -= 1;
      upstream.forgetSessions();
      return undefined;
    };
  }

  test.for([
    { retries: 0, forgotten: 1, calls: 1, initializes: 2, ok: false },
    { retries: 1, forgotten: 1, calls: 2, initializes: 2, ok: true },
    { retries: 1, forgotten: 2, calls: 2, initializes: 2, ok: false },
    { retries: 3, forgotten: 3, calls: 4, initializes: 4, ok: true },
    { retries: 3, forgotten: 4, calls: 4, initializes: 4, ok: false },
  ])(
    'is opened again: $retries retries, $forgotten times gone',
    async ({ retries, forgotten, calls, initializes, ok }) => {
      await using at = await start({ sessions: { upstream_session_termination_retries: retries } });
      const door = await open(at.adapter);
      forgetting(at.upstream, forgotten);
      const response = await door.request('tools/call', { name: 'echo', arguments: { a: 1 } });
      const message = asObject(await response.json());
      expect(response.status).toBe(200);
      if (ok) expect(textOf(message)).toBe('{"a":1}');
      else expect(message).toEqual(rpc(1, -32_001, TERMINATED, 'upstream_session_terminated'));
      expect([at.upstream.requestsOf('tools/call').length, at.upstream.initializes.length]).toEqual([
        calls,
        initializes,
      ]);
      // The session of the client lives on.
      expect(textOf(await door.tool('echo', { b: 2 }))).toBe('{"b":2}');
    },
  );
});

describe('a 404 or 400 of an upstream without sessions', () => {
  test.for([
    { status: 404, body: '{}', answer: rpc(1, 502, 'The upstream server answered with HTTP 404.', 'upstream_failed') },
    { status: 400, body: '{"detail":"session expired"}', answer: { detail: 'session expired' } },
  ])('says nothing about a session: $status', async ({ status, body, answer }) => {
    await using at = await start();
    at.upstream.behavior.sessions = false;
    const door = await open(at.adapter);
    const refusal = { status, headers: { 'content-type': 'application/json' }, body };
    at.upstream.behavior.intercept = ({ text }) => (text.includes('tools/call') ? refusal : undefined);
    const { status: shown, body: error } = await seen(door.request('tools/call', { name: 'echo' }));
    expect([shown, error]).toEqual([status === 404 ? 502 : status, answer]);
    expect([at.upstream.requestsOf('tools/call').length, at.upstream.initializes.length]).toEqual([1, 1]);
  });
});

describe('a session that is not the caller’s', () => {
  const body = (id: unknown) =>
    rpc(id, -32_001, 'The session is unknown or has ended; initialize again.', 'session_not_found');

  test('is 404, whether it is unknown, over or that of another server', async () => {
    await using upstream = await startScriptedUpstream();
    await using adapter = await startInProcess({
      servers: [mounted('up', upstream.url), mounted('other', upstream.url)],
    });
    const { sessionId } = await openSession(adapter);
    const ended = await openSession(adapter);
    expect(await drain(ended.at(adapter).end())).toBe(200);
    const before = upstream.requests.length;
    for (const door of [
      knownSession('0'.repeat(32), '2025-11-25').at(adapter),
      knownSession('../../etc/passwd', '2025-11-25').at(adapter),
      knownSession(sessionId, '2025-11-25', { path: '/mcp/other' }).at(adapter),
      ended.at(adapter),
    ]) {
      const first = await seen(door.request('ping'));
      expect(first).toMatchObject({ status: 404, body: { error: asObject(body(null).error) } });
      expect(await seen(door.request('tools/call', { name: 'echo' }))).toMatchObject({ status: 404 });
      expect(await seen(door.stream())).toEqual({ status: 404, body: body(null) });
      expect(await seen(door.end())).toEqual({ status: 404, body: body(null) });
    }
    expect(upstream.requests.length).toBe(before);
    expect(await drain(knownSession(sessionId, '2025-11-25').at(adapter).request('ping'))).toBe(200);
  });

  test('must be named at all', async () => {
    await using at = await start();
    const headers = { 'content-type': 'application/json' };
    const message = 'The Mcp-Session-Id header is missing; initialize first.';
    for (const [init, id] of [
      [{ method: 'POST', headers, body: '{"jsonrpc":"2.0","id":7,"method":"ping"}' }, 7],
      [{ method: 'POST', headers, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }, null],
      [{ method: 'GET' }, null],
      [{ method: 'DELETE' }, null],
    ] as const) {
      const expected = { status: 400, body: rpc(id, -32_000, message, 'missing_session') };
      expect(await seen(fetch(`${at.adapter.url}/mcp/up`, init))).toEqual(expected);
    }
  });
});

describe('a request that HTTP knows better', () => {
  test('is 404 where there is nothing', async () => {
    await using at = await start();
    for (const path of ['/', '/mcp', '/mcp/up/more', '/MCP/up', '/mcp/other', '/upload/none/at/all']) {
      expect(await seen(fetch(at.adapter.url + path, { method: 'POST', body: '{}' }))).toEqual({
        status: 404,
        body: { detail: 'There is nothing at this path.', code: 'not_found' },
      });
    }
  });

  test.for(['PUT', 'PATCH', 'OPTIONS'])('is 405 with the allowed methods: %s', async (method) => {
    await using at = await start();
    expect(await seen(fetch(`${at.adapter.url}/mcp/up`, { method }))).toEqual({
      status: 405,
      allow: 'POST, GET, DELETE',
      body: rpc(null, 405, 'This method is not allowed here.', 'method_not_allowed'),
    });
  });

  test('is 405 for HEAD, without a body', async () => {
    await using at = await start();
    const response = await fetch(`${at.adapter.url}/mcp/up/`, { method: 'HEAD' });
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([
      405,
      'POST, GET, DELETE',
      '',
    ]);
  });

  test('is 413 when the body is too large', async () => {
    await using at = await start({ core: { max_request_body_bytes: '10Ki' } });
    const headers = { 'content-type': 'application/json' };
    const limits = [10_240, 10_241].map((size) => ({ method: 'POST', headers, body: ' '.repeat(size) }));
    expect(await seen(fetch(`${at.adapter.url}/mcp/up`, limits[1]))).toEqual({
      status: 413,
      body: rpc(null, 413, 'The request body is too large.', 'body_too_large'),
    });
    expect(await drain(fetch(`${at.adapter.url}/mcp/up`, limits[0]))).toBe(400);
  });

  test.for([
    'text/plain',
    'application/jsonp',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
    'nonsense',
  ])('is 415 when the body is no JSON: %j', async (type) => {
    await using at = await start();
    const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
    expect(await seen(fetch(`${at.adapter.url}/mcp/up`, { method: 'POST', headers, body }))).toEqual({
      status: 415,
      body: rpc(null, 415, 'The body must be application/json.', 'unsupported_media_type'),
    });
  });
});

describe('an upstream that answers with something else', () => {
  const failed = (message: string) => ({ status: 502, body: rpc('init', 502, message, 'upstream_failed') });

  test.for<[string, RawHandler, string]>([
    ['an error of its own', (_request, res) => void res.writeHead(500).end('oops'), 'answered with HTTP 500.'],
    [
      'the page of a proxy',
      (_request, res) => void res.writeHead(504, { 'content-type': 'text/html' }).end('<html>'),
      'answered with HTTP 504.',
    ],
    [
      'a page that looks like success',
      (_request, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<script>alert(1)</script>'),
      'answered with content of the type text/html.',
    ],
    [
      'a large page',
      (_request, res) => void res.writeHead(500, { 'content-type': 'text/html' }).end('x'.repeat(200_000)),
      'answered with HTTP 500.',
    ],
    ['401', (_request, res) => void res.writeHead(401).end(), "refused the adapter's credentials (HTTP 401)."],
    ['403', (_request, res) => void res.writeHead(403).end(), "refused the adapter's credentials (HTTP 403)."],
  ])('is 502: %s', async ([, handler, message]) => {
    await using at = await startBefore(handler);
    expect(await seen(initialize(at.adapter))).toEqual(failed(`The upstream server ${message}`));
  });

  test('that is no JSON, where it has to be read, is 502 and stops nothing', async () => {
    await using at = await start({}, { disabled_tools: ['x'] });
    const door = await open(at.adapter);
    at.upstream.behavior.intercept = ({ text }) =>
      text.includes('tools/list')
        ? { status: 200, headers: { 'content-type': 'application/json' }, body: '{"result":{"tools":[{"name":"x' }
        : undefined;
    expect(await seen(door.request('tools/list'))).toMatchObject({
      status: 502,
      body: rpc(1, 502, 'The upstream server answered with text that is not valid JSON.', 'upstream_failed'),
    });
    expect(await drain(door.request('ping'))).toBe(200);
  });

  test('redirects elsewhere: 502, and nothing goes there', async () => {
    await using elsewhere = await startRawUpstream((_request, res) => void res.end());
    for (const status of [301, 302, 307, 308]) {
      await using at = await startBefore(
        (_request, res) => void res.writeHead(status, { location: `${elsewhere.url}/mcp` }).end(),
        { upstream: { static_headers: { authorization: 'Bearer static' } } },
      );
      expect(await seen(initialize(at.adapter))).toEqual(
        failed(`The upstream server redirects to ${elsewhere.url}/mcp; set upstream.url to its new place.`),
      );
    }
    expect(elsewhere.requests).toEqual([]);
  });

  test.for([307, 308])('redirects within itself by %i: followed with method, body and headers', async (status) => {
    await using upstream = await startScriptedUpstream();
    const intercept: typeof upstream.behavior.intercept = ({ path }) =>
      path === '/mcp' ? { status, headers: { location: '/mcp/' } } : undefined;
    upstream.behavior.intercept = intercept;
    const server = mounted('up', upstream.url, { upstream: { static_headers: { 'x-key': 'k' } } });
    await using adapter = await startInProcess({ servers: [server] });
    const door = await open(adapter);
    expect(textOf(await door.tool('echo', { a: 1 }))).toBe('{"a":1}');
    const [first, second] = upstream.requests;
    expect([first?.path, second?.path]).toEqual(['/mcp', '/mcp/']);
    expect(second).toMatchObject({ method: 'POST', text: first?.text, headers: { 'x-key': 'k' } });
    // Each request follows for itself: where one client is led to says nothing about another one.
    const half = upstream.requests.length / 2;
    expect(upstream.requests.filter(({ path }) => path === '/mcp')).toHaveLength(half);
  });
});

describe('an upstream that wants credentials of the client', () => {
  const challenge = 'Bearer resource_metadata="https://upstream.example/.well-known"';
  const handler: RawHandler = ({ headers }, res) => {
    if (headers.authorization === 'Bearer right') {
      const result = '{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":"2025-11-25","capabilities":{}}}';
      res.writeHead(200, { 'content-type': 'application/json' }).end(result);
      return;
    }
    const text = '{"jsonrpc":"2.0","id":"init","error":{"code":-32000,"message":"Unauthorized"}}';
    res.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': challenge }).end(text);
  };

  test('tells it so where they are passed on', async () => {
    await using at = await startBefore(handler, {
      upstream: { client_headers: { passthrough: ['Authorization'], unsafe: true } },
    });
    expect(await seen(initialize(at.adapter))).toEqual({
      status: 401,
      // The document is the adapter's own: clients refuse one that names another resource than they asked.
      'www-authenticate': `Bearer resource_metadata="${at.adapter.url}/.well-known/oauth-protected-resource/mcp/up"`,
      body: { jsonrpc: '2.0', id: 'init', error: { code: -32_000, message: 'Unauthorized' } },
    });
    expect(await drain(initialize(at.adapter, { headers: { authorization: 'Bearer right' } }))).toBe(200);
  });

  test('shows that it refuses the adapter where they are not', async () => {
    await using at = await startBefore(handler);
    const answer = await seen(initialize(at.adapter, { headers: { authorization: 'Bearer right' } }));
    expect(answer).toEqual({
      status: 502,
      body: rpc('init', 502, "The upstream server refused the adapter's credentials (HTTP 401).", 'upstream_failed'),
    });
    expect(at.upstream.requests[0]?.headers).not.toHaveProperty('authorization');
  });
});

describe('a message of the sessionless revision', () => {
  const VERSION = '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const send = (adapter: InProcessAdapter, headers: Record<string, string>, params: JsonObject = { name: 'a' }) =>
    fetch(`${adapter.url}/mcp/up`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'm', method: 'tools/call', params: { ...params, _meta: meta } }),
    });
  const right = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'a' };

  test('is 400 with -32000 before an upstream that does not know it and is not bridged, so that clients fall back to initialize', async () => {
    await using at = await start({}, { upstream: { bridge: 'off' } });
    expect(await seen(send(at.adapter, right))).toEqual({
      status: 400,
      body: rpc(
        'm',
        -32_000,
        'This server speaks the protocol revisions up to 2025-11-25; open a session with initialize.',
        'legacy_upstream',
      ),
    });
    expect(at.upstream.requestsOf('tools/call')).toEqual([]);
  });

  test('is 400 over the bridge when it does not say who asks, or names a revision that there is not', async () => {
    await using at = await start();
    const of = (headers: Record<string, string>, _meta: JsonObject) =>
      seen(
        fetch(`${at.adapter.url}/mcp/up`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ jsonrpc: '2.0', id: 'm', method: 'tools/call', params: { name: 'a', _meta } }),
        }),
      );
    expect(await of(right, { 'io.modelcontextprotocol/protocolVersion': VERSION })).toEqual({
      status: 400,
      body: rpc('m', -32_602, 'params._meta names no clientCapabilities.', 'invalid_metadata'),
    });
    const later = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    expect(await of({ ...right, 'mcp-protocol-version': '2099-01-01' }, later)).toMatchObject({ status: 400 });
    expect(at.upstream.requestsOf('tools/call')).toEqual([]);
  });

  test('is 400 with -32020 when its headers say something else', async () => {
    const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
    const modern: RawHandler = ({ json }, res) => {
      const { id, method } = asObject(json);
      const result =
        method === 'server/discover'
          ? { supportedVersions: [VERSION], resultType: 'complete' }
          : { tools: [{ name: 'a', inputSchema }], resultType: 'complete' };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    await using at = await startBefore(modern);
    const inRegion = { name: 'a', arguments: { region: 'eu' } };
    for (const [headers, message, params] of [
      [{ ...right, 'mcp-protocol-version': '' }, 'The MCP-Protocol-Version header says , the body says 2026-07-28.'],
      [{ ...right, 'mcp-method': 'tools/list' }, 'The Mcp-Method header says tools/list, the body says tools/call.'],
      [{ ...right, 'mcp-name': 'b' }, 'The Mcp-Name header does not match params.name.'],
      [right, 'The mcp-param-region header is missing.', inRegion],
      [{ ...right, 'mcp-param-region': 'us' }, 'The mcp-param-region header does not match region.', inRegion],
    ] as const) {
      expect(await seen(send(at.adapter, headers, params))).toEqual({
        status: 400,
        body: rpc('m', -32_020, message, 'header_mismatch'),
      });
    }
    const calls = (): number => at.upstream.requests.filter(({ text }) => text.includes('tools/call')).length;
    expect(calls()).toBe(0);
    expect(await drain(send(at.adapter, { ...right, 'mcp-param-region': 'eu' }, inRegion))).toBe(200);
    expect(calls()).toBe(1);
  });
});

describe('a configuration that cannot be used', () => {
  const upstream = { url: 'http://127.0.0.1:9/mcp' };
  const server = (id: string, mountPath: string): JsonObject => ({ id, mount_path: mountPath, upstream });
  const servers = [server('a', '/a')];

  const cases: [name: string, config: JsonObject | string, path: string][] = [
    ['authentication without a token', { core: { auth: { enabled: true } }, servers }, 'core.auth.token'],
    ['a blank token', { core: { auth: { enabled: true, token: ' ' } }, servers }, 'core.auth.token'],
    [
      'the redis lock without redis',
      { storage: { lock_mode: 'redis' }, state_persistence: { type: 'disk' }, servers },
      'storage.lock_mode',
    ],
    [
      'configured roots without roots',
      { storage: { artifact_locator_policy: 'allow_configured_roots' }, servers },
      'storage.artifact_locator_allowed_roots',
    ],
    ['duplicate ids', { servers: [server('a', '/a'), server('a', '/b')] }, 'servers[1].id'],
    ['duplicate mount paths', { servers: [server('a', '/a'), server('b', 'a/')] }, 'servers[1].mount_path'],
    ['the mount path /', { servers: [server('a', '/')] }, 'servers[0].mount_path'],
    ['no servers', { servers: [] }, 'servers'],
    ['redis without a host', { state_persistence: { type: 'redis' }, servers }, 'state_persistence.redis.host'],
    [
      'credentials for any origin',
      { core: { cors: { enabled: true, allowed_origins: ['*'], allow_credentials: true } }, servers },
      'core.cors.allow_credentials',
    ],
    ['an unknown field', { core: { prot: 1 }, servers }, 'core.prot'],
    ['a variable that is not set', { core: { auth: { token: '${NOT_SET_ANYWHERE}' } }, servers }, 'core.auth.token'],
    ['no YAML', 'core: [1', ''],
    ['nothing', '', 'servers'],
  ];

  test.for(cases)('is refused at start, with its place and without a stack: %s', async ([, config, path]) => {
    const { code, stdout, stderr } = await runAdapter({ config });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(path);
    expect(stderr).toMatch(/config\.yaml cannot be used: \d+ problems?\n/);
    expect(stderr).not.toMatch(/\n\s+at |node:internal|\.ts:\d/);
  });

  test('is not the only reason not to start: the port may be taken', async () => {
    const taken = createServer();
    const port = await listen(taken);
    try {
      const { code, stderr } = await runAdapter({ config: { servers }, port });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^mcp-adapter: cannot start: .*EADDRINUSE/m);
    } finally {
      taken.close();
    }
  });
});

describe('a start after one that died while it looked for files', () => {
  const servers = [mounted('up', 'http://127.0.0.1:9')];
  const LOCK = 'reconcile';
  const openState = (root: string): SqliteStore =>
    new SqliteStore({ path: join(root, 'state', 'adapter_state.sqlite3'), wal: true });

  test('opens its port, although the lock of the dead one still counts', async () => {
    await using folder = await sharedFolder();
    const config = { servers, storage: { root: folder.path } };
    const dead = await startAdapter({ config });
    dead.kill();
    await dead.exited;
    const store = openState(folder.path);
    await store.tryLock(LOCK, 'the dead one', 60_000);
    await store.close();
    await using adapter = await startAdapter({ config });
    expect((await fetch(`${adapter.url}/livez`)).status).toBe(200);
    adapter.kill(); // without a drain
  });

  test('finds no lock of one that could not open its port', async () => {
    await using folder = await sharedFolder();
    // Enough to be looked at for longer than it takes to see that the port is taken.
    const ids = Array.from({ length: 300 }, (_, i) => i.toString(16).padStart(32, '0'));
    await Promise.all(ids.map((id) => leaveOrphan(folder.path, 'upload', id, id)));
    const taken = createServer();
    const port = await listen(taken);
    try {
      expect(await runAdapter({ config: { servers, storage: { root: folder.path } }, port })).toMatchObject({
        code: 1,
      });
    } finally {
      taken.close();
    }
    const store = openState(folder.path);
    expect(await store.tryLock(LOCK, 'the next one', 60_000)).toBe(true);
    await store.close();
  });
});
