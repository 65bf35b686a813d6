import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { startProcess } from '../support/processes.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { openSession, textOf } from './kit/session.ts';

const MAIN = fileURLToPath(new URL('../../adapter/main.ts', import.meta.url));
const TOKEN_HEADER = 'x-mcp-adapter-auth-token';
const APP = 'https://app.example.com';
const SOON = { timeout: 5_000, interval: 20 };

/** Everything that must never be seen, by where it is configured. */
const SECRETS = {
  token: 'Main-Token-4f1c',
  signing: 'Signing-Secret-77ab',
  bearer: 'static-bearer-9d2e',
  apiKey: 'static-api-key-31bb',
  urlPassword: 'url-password-08fe',
  urlKey: 'url-query-key-5c5c',
  telemetry: 'telemetry-bearer-e019',
  redis: 'redis-password-6b6b',
};
const ALL = Object.values(SECRETS).join(' ');
const seenIn = (output: string): string[] => Object.values(SECRETS).filter((secret) => output.includes(secret));

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: JsonObject;
}

/** One request with exactly these headers; fetch would not send some of them. */
async function ask(
  { port }: RunningAdapter,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> {
  const asked = request({ host: '127.0.0.1', port, method, path, headers, agent: false }).end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const received = await text(response);
  const isJson = response.headers['content-type']?.startsWith('application/json') === true && received !== '';
  const json = isJson ? asObject(JSON.parse(received)) : {};
  return { status: response.statusCode ?? 0, headers: response.headers, text: received, json };
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } },
});
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const initialize = (adapter: RunningAdapter, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(adapter, 'POST', '/mcp/up', { ...JSON_HEADERS, ...headers }, INITIALIZE);

const corsHeaders = ({ headers }: Answer): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const quiet = { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, shutdown_grace_seconds: 0 };
const memory = { type: 'memory' };

describe('with authentication and CORS on', () => {
  let upstream: ScriptedUpstream;
  let adapter: RunningAdapter;
  let folder: string;
  let config: JsonObject;
  const env = { MAIN_TOKEN: SECRETS.token, API_KEY: SECRETS.apiKey };
  const token = { [TOKEN_HEADER]: SECRETS.token };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'access-'));
    upstream = await startScriptedUpstream();
    const url = `http://user:${SECRETS.urlPassword}@127.0.0.1:${upstream.port}/mcp?api_key=${SECRETS.urlKey}`;
    config = {
      core: {
        ...quiet,
        log_level: 'debug',
        upstream_ping: { interval_seconds: 0.1, failure_threshold: 1_000_000 },
        auth: { enabled: true, token: '${MAIN_TOKEN}', signing_secret: SECRETS.signing },
        cors: {
          enabled: true,
          allowed_origins: [APP],
          allowed_methods: ['POST', 'DELETE'],
          allowed_headers: ['content-type', TOKEN_HEADER],
          allow_credentials: true,
        },
      },
      telemetry: { headers: { authorization: `Bearer ${SECRETS.telemetry}` } },
      state_persistence: { type: 'disk', redis: { password: SECRETS.redis } },
      storage: { root: folder },
      servers: [
        mounted('up', url, {
          upstream: {
            static_headers: { Authorization: `Bearer ${SECRETS.bearer}`, 'X-Api-Key': '${API_KEY}', 'X-Plan': 'gold' },
            client_headers: { passthrough: ['X-Trace', 'X-Mcp-Adapter-Auth-Token'] },
          },
        }),
      ],
    };
    adapter = await startAdapter({ config, env });
  });
  afterEach(() => {
    upstream.behavior.intercept = () => undefined;
  });
  afterAll(async () => {
    await adapter?.stop();
    await upstream?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const wrong: { what: string; headers: Record<string, string> }[] = [
    { what: 'no token', headers: {} },
    { what: 'a wrong token', headers: { [TOKEN_HEADER]: `${SECRETS.token}x` } },
    { what: 'the token in another case', headers: { [TOKEN_HEADER]: SECRETS.token.toLowerCase() } },
    { what: 'an empty token', headers: { [TOKEN_HEADER]: '' } },
    { what: 'the token in another header', headers: { authorization: `Bearer ${SECRETS.token}` } },
  ];

  test.for(wrong)('$what: 401 on every route but those of probes', async ({ headers }) => {
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/nothing/here'],
      ['GET', '/metrics'],
      ['HEAD', '/healthz/more'],
      ['GET', '/livez2'],
      ['POST', '/upload/up'],
      ['GET', '/artifacts/up/s/a'],
      ['PUT', '/mcp/up/more'],
      ['GET', '/mcp'],
    ] as const) {
      const answer = await ask(adapter, method, path, headers);
      expect({ path, status: answer.status }).toEqual({ path, status: 401 });
      if (method === 'HEAD') continue;
      expect(answer.json).toEqual({ detail: expect.stringMatching(/auth-token/i) as unknown, code: 'unauthorized' });
    }
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of ['/mcp/up', '/mcp/up/', '/mcp/up?x=1']) {
        const answer = await ask(adapter, method, path, { ...JSON_HEADERS, ...headers });
        expect({ method, path, status: answer.status }).toEqual({ method, path, status: 401 });
        expect(answer.json).toMatchObject({ jsonrpc: '2.0', id: null, error: { data: { code: 'unauthorized' } } });
      }
    }
    const before = upstream.requestsOf('initialize').filter(({ headers: sent }) => 'x-trace' in sent).length;
    expect((await initialize(adapter, { ...headers, 'x-trace': '1' })).status).toBe(401);
    const after = upstream.requestsOf('initialize').filter(({ headers: sent }) => 'x-trace' in sent).length;
    expect(after).toBe(before);
    for (const path of ['/healthz', '/livez', '/readyz']) {
      expect({ path, status: (await ask(adapter, 'GET', path, headers)).status }).toEqual({ path, status: 200 });
    }
  });

  test('with the token, its header written in any case, everything works, and the token stays here', async () => {
    const headers = { 'X-MCP-ADAPTER-AUTH-TOKEN': SECRETS.token, 'X-Trace': 'trace-1' };
    expect((await initialize(adapter, headers)).status).toBe(200);
    const session = await openSession(adapter, { headers });
    expect(textOf(await session.at(adapter).tool('echo', { a: 1 }))).toBe('{"a":1}');
    expect((await ask(adapter, 'GET', '/nothing/here', token)).json).toMatchObject({ code: 'not_found' });

    const calls = upstream.requestsOf('tools/call');
    expect(calls.map((call) => call.headers['x-trace'])).toContain('trace-1');
    expect(calls.at(-1)?.headers).toMatchObject({
      authorization: `Bearer ${SECRETS.bearer}`,
      'x-api-key': SECRETS.apiKey,
    });
    const sent = upstream.requests.map(({ path, rawHeaders, text: body }) => [path, ...rawHeaders, body].join('\n'));
    expect(sent.filter((one) => one.toLowerCase().includes(TOKEN_HEADER) || one.includes(SECRETS.token))).toEqual([]);
  });

  test('a preflight needs no token; it gets what is configured', async () => {
    const asks = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-other' };
    for (const path of ['/mcp/up', '/upload/up']) {
      const { status, headers } = await ask(adapter, 'OPTIONS', path, { origin: APP, ...asks });
      expect(status).toBe(204);
      expect(headers).toMatchObject({
        'access-control-allow-origin': APP,
        'access-control-allow-methods': 'POST, DELETE',
        'access-control-allow-headers': `content-type, ${TOKEN_HEADER}`,
        'access-control-allow-credentials': 'true',
        vary: expect.stringMatching(/\borigin\b/i) as unknown,
      });
    }
  });

  test('an allowed origin gets CORS headers with every answer, a denied one 403 without them', async () => {
    const shared = {
      'access-control-allow-origin': APP,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': expect.stringMatching(/\bMcp-Session-Id\b/i) as unknown,
      vary: expect.stringMatching(/\borigin\b/i) as unknown,
    };
    const opened = await initialize(adapter, { ...token, origin: APP });
    expect(opened.status).toBe(200);
    expect(opened.headers).toMatchObject({ ...shared, 'mcp-session-id': expect.any(String) as unknown });
    // A page must be able to read why it was refused.
    const refused = await initialize(adapter, { origin: APP });
    expect(refused.status).toBe(401);
    expect(refused.headers).toMatchObject(shared);

    for (const origin of ['https://evil.example.com', `${APP}.evil.example.com`, 'http://app.example.com', 'null']) {
      const answers = [
        await initialize(adapter, { ...token, origin }),
        await ask(adapter, 'OPTIONS', '/mcp/up', { origin, 'access-control-request-method': 'POST' }),
        await ask(adapter, 'GET', '/healthz', { origin }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
      expect(answers.flatMap(corsHeaders)).toEqual([]);
      expect(answers[0]?.json).toMatchObject({ id: null, error: { data: { code: 'forbidden_origin' } } });
      expect(answers[2]?.json).toMatchObject({ code: 'forbidden_origin' });
    }
  });

  test('/healthz shows errors, and where the state is, only with the token', async () => {
    const told = 'told by the upstream';
    const refusal = { jsonrpc: '2.0', id: null, error: { code: -32000, message: told } };
    upstream.behavior.intercept = ({ method }) =>
      method === 'POST'
        ? { status: 500, headers: { 'content-type': 'application/json' }, body: JSON.stringify(refusal) }
        : undefined;
    await expect.poll(async () => (await ask(adapter, 'GET', '/healthz', token)).text, SOON).toContain(told);
    const open = await ask(adapter, 'GET', '/healthz');
    expect(open.status).toBe(503);
    expect(open.json).toMatchObject({
      status: 'degraded',
      degraded_reason: 'upstream_unhealthy',
      servers: [{ server_id: 'up', status: 'degraded', ping: { last_error: null } }],
    });
    expect(open.json.persistence).toEqual({
      status: 'ok',
      configured_type: 'disk',
      effective_type: 'disk',
      fallback_active: false,
    });
    for (const hidden of [told, folder, 'sqlite']) expect(open.text).not.toContain(hidden);

    const full = await ask(adapter, 'GET', '/healthz', token);
    expect(full.json).toMatchObject({
      persistence: { backend_details: { mode: 'sqlite', db_path: expect.stringContaining(folder) as unknown } },
    });
    expect(seenIn(open.text + full.text)).toEqual([]);
  });

  const problem = { 'content-type': 'application/json' };
  const refusal = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: `denied: ${ALL}` } });
  const repeating: { how: string; answer: { status: number; headers: Record<string, string>; body: string } }[] = [
    { how: 'an error page', answer: { status: 500, headers: { 'content-type': 'text/html' }, body: ALL } },
    { how: 'a page', answer: { status: 200, headers: { 'content-type': 'text/html' }, body: ALL } },
    { how: 'a refusal', answer: { status: 401, headers: { ...problem, 'www-authenticate': ALL }, body: refusal } },
    {
      how: 'a redirect',
      answer: {
        status: 307,
        headers: { location: `https://user:${SECRETS.urlPassword}@moved.example.com/?api_key=${SECRETS.urlKey}` },
        body: '',
      },
    },
    {
      how: 'a redirect with a header in it',
      answer: { status: 302, headers: { location: `https://moved.example.com/${SECRETS.bearer}` }, body: '' },
    },
  ];

  test.for(repeating)('an upstream that repeats secrets in $how does not get them through', async ({ answer }) => {
    upstream.behavior.intercept = () => answer;
    const refused = await initialize(adapter, token);
    expect(refused.status).toBe(502);
    expect(refused.json).toMatchObject({ id: 1, error: { data: { code: 'upstream_failed' } } });
    expect(seenIn(refused.text + JSON.stringify(refused.headers))).toEqual([]);
  });

  test('no secret is in a log at debug level, in health, in error bodies or in the process list', async () => {
    const before = adapter.logs().length;
    upstream.behavior.intercept = () => ({ status: 400, headers: problem, body: refusal });
    const logged = (): unknown =>
      adapter
        .logs()
        .slice(before)
        .map(({ error }) => error);
    await expect.poll(logged, SOON).toContainEqual(expect.stringContaining('denied: <redacted>'));
    const health = await ask(adapter, 'GET', '/healthz', token);
    expect(health.json).toMatchObject({
      servers: [{ ping: { last_error: expect.stringContaining('denied: <redacted>') as unknown } }],
    });
    const bodies = [
      health,
      await ask(adapter, 'GET', '/healthz'),
      await initialize(adapter),
      await initialize(adapter, { [TOKEN_HEADER]: 'guessed' }),
      await ask(adapter, 'GET', `/nothing?token=${SECRETS.token}`),
      await ask(adapter, 'GET', '/nothing', token),
      await ask(adapter, 'POST', '/mcp/up', { ...JSON_HEADERS, ...token }, '{'),
    ];
    const list = startProcess('ps', ['-ww', '-o', 'args=', '-p', String(adapter.pid)]);
    await list.exited;
    expect(list.stdout()).toContain('--config');
    expect(seenIn(bodies.map((body) => body.text).join('\n'))).toEqual([]);
    expect(seenIn(list.stdout())).toEqual([]);
    // Of all tests of this adapter so far.
    expect(adapter.logs().map(({ msg }) => msg)).toEqual(expect.arrayContaining(['request', 'upstream ping failed']));
    expect(seenIn(adapter.stdout() + adapter.stderr())).toEqual([]);
  });

  test('--check-config shows the configuration without its secrets', async () => {
    const file = `${folder}/config.yaml`;
    await writeFile(file, JSON.stringify(config));
    await using check = startProcess(process.execPath, [MAIN, '--check-config', '--config', file], env);
    expect(await check.exited).toMatchObject({ code: 0 });
    expect(check.stdout()).toContain('signing_secret: <redacted>');
    // Nobody can tell which of them are secrets.
    expect(check.stdout()).toContain('X-Api-Key: <redacted>');
    expect(check.stdout()).toContain('X-Plan: <redacted>');
    expect(seenIn(check.stdout() + check.stderr())).toEqual([]);
  });
});

describe('without authentication, bound to loopback', () => {
  let upstream: ScriptedUpstream;
  let adapter: RunningAdapter;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const core = { ...quiet, public_base_url: 'https://mcp.example.com/base' };
    const servers = [mounted('up', upstream.url)];
    adapter = await startAdapter({ config: { core, state_persistence: memory, servers } });
  });
  afterAll(async () => {
    await adapter?.stop();
    await upstream?.close();
  });

  test('CORS off: no CORS headers for anybody, and OPTIONS is a method that mounts do not have', async () => {
    const preflight = { 'access-control-request-method': 'POST', origin: 'http://localhost:6274' };
    for (const headers of [{}, preflight]) {
      const answer = await ask(adapter, 'OPTIONS', '/mcp/up', headers);
      expect(answer.status).toBe(405);
      expect(answer.headers.allow).toBe('POST, GET, DELETE');
      expect(answer.json).toMatchObject({ id: null, error: { data: { code: 'method_not_allowed' } } });
      expect(corsHeaders(answer)).toEqual([]);
    }
    const opened = await initialize(adapter, { origin: 'http://localhost:6274' });
    expect({ status: opened.status, cors: corsHeaders(opened) }).toEqual({ status: 200, cors: [] });
  });

  const origins = [
    { origin: 'https://mcp.example.com', status: 200 },
    { origin: 'http://localhost:6274', status: 200 },
    { origin: 'http://127.0.0.1', status: 200 },
    { origin: 'http://[::1]:3000', status: 200 },
    { origin: 'https://mcp.example.com:8443', status: 403 },
    { origin: 'https://evil.example.com', status: 403 },
    { origin: 'http://localhost.evil.example.com', status: 403 },
    { origin: 'http://127.0.0.1.evil.example.com', status: 403 },
    { origin: 'null', status: 403 },
  ];

  test.for(origins)('Origin $origin: $status', async ({ origin, status }) => {
    expect((await initialize(adapter, { origin })).status).toBe(status);
  });

  const hosts = [
    { host: 'localhost:8932', status: 200 },
    { host: '127.0.0.1', status: 200 },
    { host: '[::1]:8932', status: 200 },
    { host: 'mcp.example.com', status: 200 },
    { host: 'evil.example.com', status: 403 },
    { host: 'localhost.evil.example.com', status: 403 },
  ];

  test.for(hosts)('Host $host: $status', async ({ host, status }) => {
    const answers = [await initialize(adapter, { host }), await ask(adapter, 'GET', '/livez', { host })];
    expect(answers.map((answer) => answer.status)).toEqual([status, status]);
    // The same origin as the Host proves nothing: a rebound name sends both.
    expect((await initialize(adapter, { host, origin: `http://${host}` })).status).toBe(
      host === 'mcp.example.com' ? 403 : status,
    );
  });
});

test('another header for the token, and any origin without credentials', async () => {
  await using upstream = await startScriptedUpstream();
  const auth = { enabled: true, header_name: 'X-Team-Key', token: SECRETS.token };
  const core = { ...quiet, auth, cors: { enabled: true, allowed_origins: ['*'] } };
  const config = { core, state_persistence: memory, servers: [mounted('up', upstream.url)] };
  await using adapter = await startAdapter({ config });
  expect((await initialize(adapter, { [TOKEN_HEADER]: SECRETS.token })).status).toBe(401);
  const opened = await initialize(adapter, { 'x-TEAM-key': SECRETS.token, origin: 'https://any.example.com' });
  expect(opened.status).toBe(200);
  expect(opened.headers).toMatchObject({ 'access-control-allow-origin': '*' });
  expect(opened.headers).not.toHaveProperty('access-control-allow-credentials');
  expect(upstream.requests.flatMap(({ rawHeaders }) => rawHeaders)).not.toContain(SECRETS.token);

  const asks = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-team-key, x-other' };
  const preflight = await ask(adapter, 'OPTIONS', '/mcp/up', { origin: 'https://any.example.com', ...asks });
  expect(preflight.status).toBe(204);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST, GET, OPTIONS',
    'access-control-allow-headers': 'x-team-key, x-other',
  });
});
