import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { runAdapter, startAdapter } from '../support/adapter-process.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import type { JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { type InProcessAdapter, startInProcess } from './kit/in-process.ts';
import { drain, initialize, knownSession, openSession, textOf } from './kit/session.ts';
import { secret } from '../support/secrets/secret.ts';

const TOKEN = secret('token of the clients');
const auth = { enabled: true, token: TOKEN };
const WITH_TOKEN = { headers: { 'x-mcp-adapter-auth-token': TOKEN } };

async function start(core: JsonObject, server: JsonObject = {}, host = '127.0.0.1') {
  await using opened = new AsyncDisposableStack();
  const upstream = opened.use(await startScriptedUpstream());
  const adapter = opened.use(await startInProcess({ core, servers: [mounted('up', upstream.url, server)] }, { host }));
  const running = opened.move();
  return { upstream, adapter, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

interface RawAnswer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A request with headers that fetch does not let one choose, such as Host and Origin. */
function send(
  { port }: { readonly port: number },
  path: string,
  headers: Record<string, string> = {},
  { method = 'GET', body = '' } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text }));
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const INITIALIZE = {
  method: 'POST',
  body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}',
};
const JSON_TYPE = { 'content-type': 'application/json' };

describe('with authentication', () => {
  test('every route asks for the token but health checks, with one answer whatever is there', async () => {
    await using at = await start({ auth });
    const session = await openSession(at.adapter, WITH_TOKEN);
    const before = at.upstream.requests.length;
    const bodies = new Set<string>();
    for (const path of [
      '/mcp/up',
      '/mcp/up/',
      '/mcp/none',
      '/',
      '/upload/up',
      '/artifacts/up/a/b',
      '/metrics',
      '/healthz/x',
      '//healthz',
    ]) {
      for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'OPTIONS']) {
        const isMount = path.startsWith('/mcp/up');
        const answer = await send(at.adapter, path, { 'mcp-session-id': session.sessionId, ...JSON_TYPE }, { method });
        expect([path, method, answer.status]).toEqual([path, method, 401]);
        bodies.add(`${isMount} ${answer.body}`);
      }
    }
    expect(bodies.size).toBe(2);
    for (const path of ['/healthz', '/livez', '/readyz']) expect((await send(at.adapter, path)).status).toBe(200);
    expect(at.upstream.requests.length).toBe(before);
    expect(textOf(await session.at(at.adapter).tool('echo', { a: 1 }))).toBe('{"a":1}');
  });

  test('the token is compared exactly, and its header without regard to case', async () => {
    await using at = await start({ auth: { ...auth, header_name: 'X-Api-Key' } });
    const status = async (headers: Record<string, string>) => drain(initialize(at.adapter, { headers }));
    expect(await status({ 'X-API-KEY': TOKEN })).toBe(200);
    for (const value of [
      TOKEN.toLowerCase(),
      `${TOKEN}x`,
      TOKEN.slice(0, -1),
      `Bearer ${TOKEN}`,
      `${TOKEN}, ${TOKEN}`,
    ]) {
      expect([value, await status({ 'x-api-key': value })]).toEqual([value, 401]);
    }
    expect(await status(WITH_TOKEN.headers)).toBe(401);
    expect(await status({ authorization: `Bearer ${TOKEN}` })).toBe(401);
  });

  test('the token goes no further than the adapter, even where it is listed', async () => {
    const passthrough = ['X-Mcp-Adapter-Auth-Token', 'X-Tenant'];
    await using at = await start({ auth }, { upstream: { client_headers: { passthrough } } });
    const headers = { ...WITH_TOKEN.headers, 'x-tenant': 'blue' };
    await (await openSession(at.adapter, { headers })).at(at.adapter).tool('echo');
    expect(at.upstream.requests.length).toBeGreaterThan(2);
    for (const one of at.upstream.requests) {
      expect(one.headers).toMatchObject({ 'x-tenant': 'blue' });
      expect(JSON.stringify(one.rawHeaders)).not.toContain(TOKEN);
    }
  });

  test('a session without the token is worth nothing', async () => {
    await using at = await start({ auth });
    const { sessionId } = await openSession(at.adapter, WITH_TOKEN);
    const stolen = knownSession(sessionId, '2025-11-25').at(at.adapter);
    for (const answer of [stolen.request('ping'), stolen.stream(), stolen.end()]) expect(await drain(answer)).toBe(401);
    expect(await drain(knownSession(sessionId, '2025-11-25', WITH_TOKEN).at(at.adapter).request('ping'))).toBe(200);
  });
});

test('T26: who may not call a tool does not use it up for others', async () => {
  const [anna, bob] = [secret('token of anna'), secret('token of bob')];
  const tokens = [
    { name: 'anna', token: anna },
    { name: 'bob', token: bob },
  ];
  const access = { rules: [{ effect: 'deny', principals: ['token:bob'], tools: ['echo'] }] };
  const limits = [
    { per: 'tool', rate: '2/h' },
    { per: 'server', rate: '3/h' },
  ];
  await using at = await start({ auth: { enabled: true, tokens } }, { access, limits });
  const of = async (token: string) =>
    (await openSession(at.adapter, { headers: { 'x-mcp-adapter-auth-token': token } })).at(at.adapter);
  const [his, hers] = [await of(bob), await of(anna)];
  for (let n = 0; n < 5; n += 1) expect(await his.tool('echo')).toMatchObject({ error: { code: -32602 } });
  for (let n = 0; n < 2; n += 1) expect(textOf(await hers.tool('echo', { n }))).toBe(JSON.stringify({ n }));
  expect(await hers.tool('echo')).toMatchObject({ error: { code: 429 } });
});

describe('browsers', () => {
  const cors = { enabled: true, allowed_origins: ['https://app.example'], allow_credentials: true };
  const origin = 'https://app.example';
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-a, mcp-session-id',
  };

  test('of an allowed origin ask before they send the token, and may read the answer', async () => {
    await using at = await start({ auth, cors });
    const asked = await send(at.adapter, '/mcp/up', { origin, ...preflight }, { method: 'OPTIONS' });
    expect([asked.status, asked.body]).toEqual([204, '']);
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'POST, GET, OPTIONS',
      'access-control-allow-headers': 'x-a, mcp-session-id',
      vary: 'Origin',
    });
    const answer = await send(at.adapter, '/mcp/up', { origin, ...JSON_TYPE, ...WITH_TOKEN.headers }, INITIALIZE);
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, origin]);
    expect(answer.headers['access-control-expose-headers']).toContain('Mcp-Session-Id');
    const denied = await send(at.adapter, '/mcp/up', { origin, ...JSON_TYPE }, INITIALIZE);
    expect([denied.status, denied.headers['access-control-allow-origin']]).toEqual([401, origin]);
  });

  test.for([
    'https://evil.example',
    'https://app.example.evil.example',
    'http://app.example',
    'null',
    'https://app.example:8443',
    'x',
  ])('of another origin are refused before anything else: %s', async (other) => {
    await using at = await start({ auth, cors });
    const refusals = [
      await send(at.adapter, '/mcp/up', { origin: other, ...preflight }, { method: 'OPTIONS' }),
      await send(at.adapter, '/mcp/up', { origin: other, ...JSON_TYPE, ...WITH_TOKEN.headers }, INITIALIZE),
      await send(at.adapter, '/healthz', { origin: other }),
    ];
    for (const { status, headers, body } of refusals) {
      expect(status).toBe(403);
      expect(body).toContain('forbidden_origin');
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    expect(at.upstream.requests).toEqual([]);
  });

  test('of any origin may come where that is configured, and get no CORS headers where CORS is off', async () => {
    await using any = await start({ cors: { enabled: true, allowed_origins: ['*'] } });
    const answer = await send(any.adapter, '/mcp/up', { origin: 'https://any.example', ...JSON_TYPE }, INITIALIZE);
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, '*']);
    await using off = await start({ cors: { ...cors, enabled: false } });
    const silent = await send(off.adapter, '/mcp/up', { origin, ...JSON_TYPE }, INITIALIZE);
    expect([silent.status, silent.headers['access-control-allow-origin']]).toEqual([200, undefined]);
    const asked = await send(off.adapter, '/mcp/up', { origin, ...preflight }, { method: 'OPTIONS' });
    expect(asked.status).toBe(405);
  });

  test('of the page that the adapter itself is on may come; a Host of the same name proves nothing', async () => {
    await using at = await start({ public_base_url: 'https://adapter.example/base' });
    const from = (from: string, host: string) =>
      send(at.adapter, '/mcp/up', { origin: from, host, ...JSON_TYPE }, INITIALIZE).then(({ status }) => status);
    expect(await from('https://adapter.example', 'adapter.example')).toBe(200);
    expect(await from('http://localhost:5173', 'localhost')).toBe(200);
    expect(await from('https://rebound.example', 'rebound.example')).toBe(403);
    expect(await from('https://rebound.example', 'localhost')).toBe(403);
  });
});

describe('the name by which it is called', () => {
  const status = (adapter: InProcessAdapter, host: string) =>
    send(adapter, '/livez', { host }).then((one) => one.status);

  test('is checked while only this machine can connect, so that no page can rebind its name to it', async () => {
    await using at = await start({ public_base_url: 'https://adapter.example' });
    for (const host of ['localhost', `127.0.0.1:${at.adapter.port}`, '[::1]:80', 'adapter.example']) {
      expect([host, await status(at.adapter, host)]).toEqual([host, 200]);
    }
    for (const host of ['evil.example', 'localhost.evil.example', `evil.example:${at.adapter.port}`, '10.0.0.1']) {
      expect([host, await status(at.adapter, host)]).toEqual([host, 403]);
    }
  });

  test('T13: where others connect, a rebound page learns nothing, and whoever has the token may ask by any name', async () => {
    await using at = await start({}, {}, '0.0.0.0');
    const as = (host: string, path: string, more: Record<string, string> = {}) =>
      send(at.adapter, path, { host, ...more });
    for (const host of ['evil.example', `evil.example:${at.adapter.port}`]) {
      const refused = await as(host, '/healthz');
      expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('core.allowed_hosts')]);
      const page = await send(at.adapter, '/mcp/up', { host, origin: `http://${host}`, ...JSON_TYPE }, INITIALIZE);
      expect([page.status, page.body]).toEqual([403, expect.stringContaining('forbidden_origin')]);
      // A client behind a proxy that passes the name on, of which nobody has told the adapter.
      expect((await send(at.adapter, '/mcp/up', { host, ...JSON_TYPE }, INITIALIZE)).status).toBe(200);
      for (const probe of ['/livez', '/readyz']) expect((await as(host, probe)).status).toBe(200);
    }
    for (const host of ['adapter.team.svc', 'adapter', '10.0.0.7:8932', 'localhost']) {
      expect([host, (await as(host, '/healthz')).status]).toEqual([host, 200]);
    }
    await using closed = await start({ auth }, {}, '0.0.0.0');
    expect((await send(closed.adapter, '/healthz', { host: 'mcp.example.com' })).status).toBe(403);
    const shown = await send(closed.adapter, '/healthz', { host: 'mcp.example.com', ...WITH_TOKEN.headers });
    expect(shown.status).toBe(200);
  });

  test('T13: with a list, no other name is served but to probes', async () => {
    await using at = await start({ allowed_hosts: ['mcp.example.com', '*.apps.example'] }, {}, '0.0.0.0');
    const open = (host: string) => send(at.adapter, '/mcp/up', { host, ...JSON_TYPE }, INITIALIZE);
    for (const host of ['mcp.example.com', 'one.apps.example:8443', '10.0.0.7']) {
      expect([host, (await open(host)).status]).toEqual([host, 200]);
    }
    for (const host of ['evil.example', 'adapter.team.svc', 'apps.example']) {
      const refused = await open(host);
      expect([host, refused.status, refused.body]).toEqual([host, 403, expect.stringContaining('core.allowed_hosts')]);
      expect((await send(at.adapter, '/healthz', { host })).status).toBe(403);
      // A busy machine may be late to answer its own probe of the upstream.
      await expect.poll(async () => (await send(at.adapter, '/readyz', { host })).status).toBe(200);
    }
  });

  test('is not what a proxy says that it was', async () => {
    await using at = await start({});
    const forwarded = {
      'x-forwarded-host': 'localhost',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '127.0.0.1',
      forwarded: 'host=localhost;for=127.0.0.1',
    };
    const refused = await send(at.adapter, '/livez', { host: 'evil.example', ...forwarded });
    expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('forbidden_host')]);
    const other = { ...forwarded, 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' };
    expect((await send(at.adapter, '/livez', { host: 'localhost', ...other })).status).toBe(403);
    expect(
      (await send(at.adapter, '/livez', { host: 'localhost', ...forwarded, 'x-forwarded-host': 'evil.example' }))
        .status,
    ).toBe(200);
  });

  test('does not reach the upstream, nor does anything of a proxy', async () => {
    await using at = await start({});
    const headers = {
      'x-forwarded-for': '1.2.3.4',
      'x-forwarded-host': 'a.example',
      'x-forwarded-proto': 'https',
      forwarded: 'for=1.2.3.4',
      cookie: 'a=b',
      te: 'trailers',
    };
    await (
      await openSession(at.adapter, { headers })
    )
      .at(at.adapter)
      .request('ping')
      .then((one) => one.text());
    for (const one of at.upstream.requests) {
      for (const name of Object.keys(headers)) expect(one.headers).not.toHaveProperty(name);
      expect(one.headers.host).toBe(`127.0.0.1:${at.upstream.port}`);
    }
  });
});

describe('health', () => {
  test('T25: says, as the log does at the start, when whoever comes is let in, or when the token is short', async () => {
    const seen = async (core: JsonObject, host: string) => {
      await using at = await start(core, {}, host);
      const { warnings } = JSON.parse((await send(at.adapter, '/healthz')).body) as { warnings?: string[] };
      const said = at.adapter.logs.filter(
        ({ level, msg }) => level === 'warning' && String(msg).includes('core.auth.'),
      );
      return [warnings, said.map(({ msg }) => String(msg).split(' ')[0])];
    };
    expect(await seen({}, '0.0.0.0')).toEqual([['open_to_all'], ['core.auth.enabled']]);
    expect(await seen({}, '127.0.0.1')).toEqual([undefined, []]);
    expect(await seen({ auth }, '0.0.0.0')).toEqual([undefined, []]);
    const short = { enabled: true, token: secret('short').slice(0, 15) };
    expect(await seen({ auth: short }, '127.0.0.1')).toEqual([['weak_credentials'], ['core.auth.token']]);
  });

  const UNHEALTHY = { status: 503, body: expect.stringContaining('"degraded_reason":"upstream_unhealthy"') };

  test('without the token shows no errors, with it shows them', async () => {
    const ping = { enabled: true, interval_seconds: 0.02, failure_threshold: 1 };
    await using at = await start({ auth, upstream_ping: ping });
    await at.upstream.die();
    await eventually(() => send(at.adapter, '/healthz')).toMatchObject(UNHEALTHY);
    const full: unknown = JSON.parse((await send(at.adapter, '/healthz', WITH_TOKEN.headers)).body);
    const error = expect.stringContaining(`127.0.0.1:${at.upstream.port}`);
    expect(full).toMatchObject({ servers: [{ ping: { last_error: error } }], persistence: { state_inventory: {} } });
    const wrong = { 'x-mcp-adapter-auth-token': 'wrong' };
    for (const headers of [{}, wrong]) {
      const shown: unknown = JSON.parse((await send(at.adapter, '/healthz', headers)).body);
      expect(shown).toMatchObject({
        status: 'degraded',
        servers: [
          {
            status: 'degraded',
            server_id: 'up',
            ping: { last_error: null },
          },
        ],
      });
      expect(shown).not.toHaveProperty('persistence.state_inventory');
      for (const name of ['mount_path', 'upstream_url']) expect(shown).not.toHaveProperty(`servers[0].${name}`);
    }
  });

  test('can be told whatever servers are called, and whatever upstreams say', async () => {
    await using upstream = await startRawUpstream((_request, res) => {
      const message = 'token: "hunter2", "quoted" {"password":"hunter3"}';
      res.writeHead(400, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -1, message } }));
    });
    const servers = ['token-store', 'api_key', 'the-secret', 'cookie'].map((id) => mounted(id, upstream.url));
    await using adapter = await startInProcess({ core: { upstream_ping: { enabled: true } }, servers });
    await eventually(() => send(adapter, '/healthz')).toMatchObject(UNHEALTHY);
    const health: { servers: { server_id: string; ping: { last_error: string } }[] } = JSON.parse(
      (await send(adapter, '/healthz')).body,
    );
    expect(health.servers.map(({ server_id }) => server_id)).toEqual([
      'token-store',
      'api_key',
      'the-secret',
      'cookie',
    ]);
    expect(JSON.stringify(health)).not.toContain('hunter');
  });
});

describe('secrets', () => {
  const secrets = {
    TOKEN: secret('token'),
    SIGNING: secret('signing secret'),
    STATIC: secret('static header'),
    BASIC: secret('basic'),
    REDIS: secret('Redis password'),
    URL_PASSWORD: secret('password in a URL'),
    QUERY: secret('query'),
    OTLP: secret('OTLP header'),
  };
  const values = Object.values(secrets);
  const config = (upstreamUrl: string): JsonObject => ({
    core: {
      max_start_wait_seconds: 0,
      log_level: 'debug',
      auth: { enabled: true, token: '${TOKEN}', signing_secret: '${SIGNING}' },
      upstream_ping: { interval_seconds: 0.05, timeout_seconds: 5, open_cooldown_seconds: 0.05 },
    },
    telemetry: { headers: { authorization: 'Bearer ${OTLP}' } },
    state_persistence: { type: 'memory', redis: { host: 'redis.example', password: '${REDIS}' } },
    servers: [
      mounted('up', upstreamUrl.replace('http://', 'http://user:${URL_PASSWORD}@').concat('?api_key=${QUERY}'), {
        upstream: {
          static_headers: {
            'X-Api-Key': '${STATIC}',
            Authorization: `Basic ${Buffer.from(`u:${secrets.BASIC}`).toString('base64')}`,
          },
        },
      }),
    ],
  });

  test('stand neither in the log at its most talkative, nor in answers, nor in health', async () => {
    const upstream = await startScriptedUpstream();
    const shown: string[] = [];
    const adapter = await startAdapter({ config: config(upstream.url), env: secrets });
    try {
      const headers = { 'x-mcp-adapter-auth-token': secrets.TOKEN };
      const door = (await openSession(adapter, { headers })).at(adapter);
      // The upstream repeats all that it gets, in errors of every kind.
      const echo = JSON.stringify(values);
      upstream.behavior.intercept = ({ method, headers: sent }) => {
        if (method === 'DELETE') return undefined;
        const message = `refused ${JSON.stringify(sent)} ${echo}`;
        return {
          status: 500,
          headers: { 'content-type': 'application/json', 'www-authenticate': `Bearer error="${secrets.STATIC}"` },
          body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }),
        };
      };
      await upstream.waitForRequest(({ text }) => text.includes('"ping"'));
      await eventually(() => adapter.stdout()).toContain('upstream ping failed');
      const health = async (): Promise<string> => (await fetch(`${adapter.url}/healthz`, { headers })).text();
      await eventually(health).toContain('refused');
      shown.push(await health(), await (await fetch(`${adapter.url}/healthz`)).text());
      await upstream.die();
      await eventually(health).toContain('ECONNREFUSED');
      shown.push(await health());
      for (const wrong of [{}, { 'x-mcp-adapter-auth-token': `${secrets.TOKEN}x` }]) {
        shown.push(await (await fetch(`${adapter.url}/mcp/up`, { headers: wrong })).text());
      }
      const refused = await door.request('tools/call', { name: 'echo', arguments: {} });
      shown.push(await refused.text());
      await door.end().then((answer) => answer.text());
    } finally {
      await adapter.stop();
      await upstream.close();
    }
    shown.push(adapter.stdout(), adapter.stderr());
    expect(adapter.logs().length).toBeGreaterThan(5);
    for (const text of shown) for (const value of values) expect(text).not.toContain(value);
    expect(shown.join('')).not.toContain(Buffer.from(`u:${secrets.BASIC}`).toString('base64'));
    expect(adapter.stdout()).toContain('<redacted>');
  });

  test('do not stand in what clients are told when an upstream refuses a session and repeats what it was sent', async () => {
    const upstream = await startScriptedUpstream();
    const adapter = await startAdapter({ config: config(upstream.url), env: secrets });
    try {
      const door = (await openSession(adapter, { headers: { 'x-mcp-adapter-auth-token': secrets.TOKEN } })).at(adapter);
      upstream.forgetSessions();
      upstream.behavior.intercept = ({ text, headers }) => {
        if (!text.includes('"initialize"')) return undefined;
        const message = `refused ${JSON.stringify(headers)}`;
        const body = JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(text).id, error: { code: -32_000, message } });
        return { status: 200, headers: { 'content-type': 'application/json' }, body };
      };
      const answer = await (await door.request('tools/call', { name: 'echo', arguments: {} })).text();
      expect(answer).toContain('refused');
      expect(answer).toContain('<redacted>');
      for (const value of values) expect(answer).not.toContain(value);
    } finally {
      await adapter.stop();
      await upstream.close();
    }
  });

  test('stand neither in --check-config nor in what is said about a wrong configuration', async () => {
    const args = ['--check-config', '--print'];
    const good = await runAdapter({ config: config('http://127.0.0.1:9/mcp'), env: secrets, args });
    expect([good.code, good.stderr]).toEqual([0, '']);
    expect(good.stdout).toContain('<redacted>');
    expect(good.stdout).toContain('mount_path: /mcp/up');
    const wrong = {
      ...config('http://127.0.0.1:9/mcp'),
      telemetry: { endpoint: 7, headers: ['${OTLP}'] },
      '${TOKEN}': 1,
    };
    const bad = await runAdapter({ config: wrong, env: secrets });
    expect(bad.code).toBe(1);
    for (const value of values) {
      expect(good.stdout).not.toContain(value);
      expect(bad.stdout + bad.stderr).not.toContain(value);
    }
  });
});
