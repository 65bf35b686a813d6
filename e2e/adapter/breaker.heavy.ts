import { describe, expect, test } from 'vitest';
import { freePort } from '../support/ports.ts';
import { type RawHandler, startRawUpstream } from '../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { type InProcessAdapter, startInProcess } from './kit/in-process.ts';
import { startSseUpstream } from './kit/sse-upstream.ts';
import { type Door, drain, initialize, knownSession, openSession, textOf } from './kit/session.ts';

/** Quick, so that nobody waits long; no test depends on how quick. */
const PING = {
  enabled: true,
  interval_seconds: 0.02,
  timeout_seconds: 5,
  failure_threshold: 3,
  open_cooldown_seconds: 0.3,
  half_open_probe_allowance: 2,
};

async function start(ping: JsonObject = {}, config: JsonObject = {}) {
  await using opened = new AsyncDisposableStack();
  const upstream = opened.use(await startScriptedUpstream());
  const core = { upstream_ping: { ...PING, ...ping } };
  const adapter = opened.use(await startInProcess({ core, servers: [mounted('up', upstream.url)], ...config }));
  const running = opened.move();
  return { upstream, adapter, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

interface Health {
  readonly status: number;
  readonly body: JsonObject;
  /** The entry of the only server. */
  readonly server: JsonObject;
  readonly breaker: JsonObject;
}

async function health({ url }: { readonly url: string }): Promise<Health> {
  const response = await fetch(`${url}/healthz`);
  const body = asObject(await response.json());
  const [server] = Array.isArray(body.servers) ? body.servers : [];
  return { status: response.status, body, server: asObject(server), breaker: asObject(asObject(server).breaker) };
}
const state = async (adapter: InProcessAdapter): Promise<unknown> => (await health(adapter)).breaker.state;
const reaches = (adapter: InProcessAdapter, wanted: string): Promise<void> =>
  eventually(() => state(adapter)).toBe(wanted);
const open = async (adapter: InProcessAdapter): Promise<Door> => (await openSession(adapter)).at(adapter);

describe('the circuit breaker', () => {
  test('opens when an upstream dies, refuses everything at once, and closes when it is back', async () => {
    await using at = await start();
    const door = await open(at.adapter);
    await at.upstream.waitForMessage('ping');
    await at.upstream.die();
    await reaches(at.adapter, 'open');
    const opened = await health(at.adapter);
    expect(opened).toMatchObject({
      status: 503,
      body: { status: 'degraded', degraded_reason: 'upstream_unhealthy' },
      server: { status: 'degraded', detail: 'upstream_unhealthy' },
      breaker: { failure_threshold: 3 },
    });
    expect(Number(opened.breaker.consecutive_failures)).toBeGreaterThanOrEqual(3);
    await eventually(async () => {
      const answers = [
        initialize(at.adapter),
        door.request('ping'),
        door.request('tools/call', { name: 'echo' }),
        door.stream(),
      ];
      return await Promise.all(answers.map(async (answer) => drain(answer)));
    }).toEqual([503, 503, 503, 503]);

    await at.upstream.listenAgain();
    await reaches(at.adapter, 'closed');
    await eventually(async () => (await health(at.adapter)).status).toBe(200);
    // The session of the client has outlived it all.
    expect(textOf(await door.tool('echo', { a: 1 }))).toBe('{"a":1}');
  });

  test('lets sessions of HTTP+SSE end, whose streams nobody would close otherwise', async () => {
    await using upstream = await startSseUpstream();
    const ping = { ...PING, timeout_seconds: 2, failure_threshold: 1, open_cooldown_seconds: 600 };
    const servers = [mounted('up', upstream.url, { upstream: { transport: 'sse' } })];
    await using adapter = await startInProcess({ core: { upstream_ping: ping }, servers });
    await upstream.waitForRequest(({ text }) => text.includes('"ping"'));
    const pinged = [...upstream.sessions.values()];
    const door = await open(adapter);
    const [id] = [...upstream.sessions].find(([, session]) => !pinged.includes(session)) ?? [''];
    upstream.gate = new Promise(() => {});
    for (const session of pinged) session.getStream.detach();
    await reaches(adapter, 'open');
    expect(upstream.sessions.has(id)).toBe(true);
    expect(await drain(door.end())).toBe(200);
    await eventually(() => upstream.sessions.has(id)).toBe(false);
  });

  test('needs so many failed pings in a row, and no failure of a client’s request', async () => {
    await using at = await start();
    const door = await open(at.adapter);
    let pings = 0;
    at.upstream.behavior.intercept = ({ text }) => {
      // Of three pings two fail, and everything else does.
      if (text.includes('"ping"') && text.includes('mcpa-')) return (pings += 1) % 3 === 0 ? undefined : 'destroy';
      return text.includes('tools/call') ? { status: 500 } : undefined;
    };
    for (let i = 0; i < 10; i += 1) expect(await drain(door.request('tools/call', { name: 'echo' }))).toBe(502);
    await eventually(() => pings).toBeGreaterThan(12);
    const failures = at.adapter.logs.filter(({ msg }) => msg === 'upstream ping failed');
    expect(failures.length).toBeGreaterThan(6);
    expect(await state(at.adapter)).toBe('closed');
    expect(await drain(door.request('tools/call', { name: 'echo' }))).toBe(502);
  });

  test('counts a ping that is not answered in time as failed', async () => {
    await using at = await start({ timeout_seconds: 1, open_cooldown_seconds: 60 });
    await at.upstream.waitForMessage('ping');
    at.upstream.behavior.headerDelayMs = 60_000;
    await reaches(at.adapter, 'open');
    at.upstream.behavior.headerDelayMs = 0;
    expect(asObject((await health(at.adapter)).server.ping).last_error).toMatch(/no answer to \w+ within 1 s/);
  });

  test('half open, lets few requests through at a time', async () => {
    const answered = Promise.withResolvers<void>();
    let alive = true;
    let calls = 0;
    const handler: RawHandler = async ({ json }, res) => {
      const { id, method } = asObject(json);
      if (!alive) {
        res.destroy();
        return;
      }
      if (method === 'tools/call') {
        calls += 1;
        await answered.promise;
      }
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
      if (id === undefined) res.writeHead(202).end();
      else
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    await using upstream = await startRawUpstream(handler);
    // Pings so seldom that the probes are those of the client, and time enough to send all of them before a probe counts
    // as one that never ends.
    const ping = { ...PING, interval_seconds: 6, failure_threshold: 1, open_cooldown_seconds: 3 };
    const servers = [mounted('up', `${upstream.url}/mcp`)];
    await using adapter = await startInProcess({ core: { upstream_ping: ping }, servers });
    const door = await open(adapter);
    alive = false;
    await reaches(adapter, 'open');
    alive = true;
    await reaches(adapter, 'half_open');
    const statuses: number[] = [];
    const sent = Array.from({ length: 20 }, async () => {
      statuses.push(await drain(door.request('tools/call', { name: 'x' })));
    });
    // Those that are refused have their answer; those that are let through have none yet.
    await eventually(() => [calls, statuses]).toEqual([2, Array.from({ length: 18 }, () => 503)]);
    answered.resolve();
    await Promise.all(sent);
    expect(statuses.slice(18)).toEqual([200, 200]);
    expect(await state(adapter)).toBe('closed');
    expect(await drain(door.request('ping'))).toBe(200);
  });

  test('half open, opens again when a request fails', async () => {
    await using at = await start({ failure_threshold: 1, interval_seconds: 3, open_cooldown_seconds: 1 });
    const door = await open(at.adapter);
    at.upstream.behavior.intercept = () => 'destroy';
    await reaches(at.adapter, 'open');
    await reaches(at.adapter, 'half_open');
    expect(await drain(door.request('ping'))).toBe(502);
    expect(await state(at.adapter)).toBe('open');
    expect(await drain(door.request('ping'))).toBe(503);
  });

  test('is not held half open by requests that never reach the upstream', async () => {
    const once = { half_open_probe_allowance: 1, failure_threshold: 1, interval_seconds: 3, open_cooldown_seconds: 1 };
    await using at = await start(once);
    const door = await open(at.adapter);
    expect(await drain(door.request('tools/list'))).toBe(200);
    at.upstream.behavior.intercept = () => 'destroy';
    await reaches(at.adapter, 'open');
    at.upstream.behavior.intercept = () => undefined;
    await reaches(at.adapter, 'half_open');
    // Each of these asks for the only place there is: one is refused, one answered from the cache.
    const unknown = knownSession('0'.repeat(32), '2025-11-25').at(at.adapter);
    expect(await drain(unknown.request('ping'))).toBe(404);
    expect(await drain(unknown.stream())).toBe(404);
    expect(await drain(door.request('tools/list'))).toBe(200);
    expect(await state(at.adapter)).toBe('half_open');
    expect(await drain(door.request('ping'))).toBe(200);
    expect(await state(at.adapter)).toBe('closed');
  });

  test('is not held half open by a stream that stays open', async () => {
    await using at = await start({ half_open_probe_allowance: 1, open_cooldown_seconds: 0.2, interval_seconds: 0.5 });
    const door = await open(at.adapter);
    await at.upstream.die();
    await reaches(at.adapter, 'open');
    await at.upstream.listenAgain();
    let stream: Response | undefined;
    await eventually(async () => {
      if (stream?.status !== 200) stream = await door.stream();
      return stream.status;
    }, 5).toBe(200);
    await reaches(at.adapter, 'closed');
    await stream?.body?.cancel();
  });

  test('stays closed where pings are off, however dead the upstream is', async () => {
    await using at = await start({ enabled: false });
    const door = await open(at.adapter);
    await at.upstream.die();
    for (let i = 0; i < 10; i += 1) expect(await drain(door.request('ping'))).toBe(502);
    expect(await health(at.adapter)).toMatchObject({
      status: 200,
      body: { status: 'ok' },
      server: { status: 'ok', detail: 'upstream_ping_disabled' },
      breaker: { state: 'closed' },
    });
    expect((await health(at.adapter)).server).not.toHaveProperty('ping');
    expect(at.upstream.requests.filter(({ text }) => text.includes('mcpa-'))).toEqual([]);
    await at.upstream.listenAgain();
    expect(await drain(door.request('ping'))).toBe(200);
  });

  test('of one server says nothing about another', async () => {
    await using alive = await startScriptedUpstream();
    await using dead = await startScriptedUpstream();
    const path = '/mcp/up/dead'; // below the other's
    const servers = [mounted('up', alive.url), { ...mounted('dead', dead.url), mount_path: path }];
    await using adapter = await startInProcess({
      core: { upstream_ping: { ...PING, open_cooldown_seconds: 60 } },
      servers,
    });
    await dead.die();
    await eventually(() => drain(initialize(adapter, { path }))).toBe(503);
    expect(await drain(initialize(adapter))).toBe(200);
    const { body } = await health(adapter);
    expect(body).toMatchObject({
      status: 'degraded',
      servers: [
        { server_id: 'up', status: 'ok', breaker: { state: 'closed' } },
        { server_id: 'dead', status: 'degraded', breaker: { state: 'open' } },
      ],
    });
  });
});

describe('at the start', () => {
  test('the port is open while upstreams are waited for, and all is well once they are there', async () => {
    await using upstream = await startScriptedUpstream();
    await upstream.die();
    // Were these asks those of the breaker, it would be open for a minute after the first.
    const ping = { ...PING, failure_threshold: 1, open_cooldown_seconds: 60 };
    const core = { max_start_wait_seconds: 60, upstream_ping: ping };
    await using adapter = await startInProcess({ core, servers: [mounted('up', upstream.url)] });
    expect(await drain(fetch(`${adapter.url}/livez`))).toBe(200);
    // Files are looked through before a replica is ready.
    await eventually(() => drain(fetch(`${adapter.url}/readyz`))).toBe(200);
    await eventually(async () => (await health(adapter)).status).toBe(503);
    const waiting = await health(adapter);
    expect(waiting.body).not.toHaveProperty('startup');
    expect(await drain(initialize(adapter))).toBe(502);
    await upstream.listenAgain();
    await eventually(async () => (await health(adapter)).status).toBe(200);
    expect((await health(adapter)).body.startup).toMatchObject({
      ready_within_wait_budget: true,
      max_start_wait_seconds: 60,
      not_ready_servers: [],
    });
    expect(await drain(initialize(adapter))).toBe(200);
  });

  test('upstreams that are there are watched while others are waited for', async () => {
    await using upstream = await startScriptedUpstream();
    const core = { max_start_wait_seconds: 60, upstream_ping: { ...PING, open_cooldown_seconds: 60 } };
    const servers = [mounted('up', upstream.url), mounted('never', `http://127.0.0.1:${await freePort()}/mcp`)];
    await using adapter = await startInProcess({ core, servers });
    await upstream.waitForMessage('ping');
    await upstream.die();
    await eventually(() => drain(initialize(adapter))).toBe(503);
    expect((await health(adapter)).body).not.toHaveProperty('startup');
    expect(await drain(initialize(adapter, { path: '/mcp/never' }))).toBe(502);
  });

  test('upstreams that take longer than the wait are named, until they are there', async () => {
    await using late = await startScriptedUpstream();
    await late.die();
    await using punctual = await startScriptedUpstream();
    const core = { max_start_wait_seconds: 0.5, upstream_ping: PING };
    const servers = [
      mounted('late', late.url),
      mounted('up', punctual.url),
      mounted('never', `http://127.0.0.1:${await freePort()}/mcp`),
    ];
    await using adapter = await startInProcess({ core, servers });
    await eventually(async () => (await health(adapter)).body.startup).toMatchObject({
      ready_within_wait_budget: false,
      max_start_wait_seconds: 0.5,
      not_ready_servers: ['late', 'never'],
    });
    expect(adapter.logs).toContainEqual(expect.objectContaining({ level: 'warning', servers: ['late', 'never'] }));
    expect(await drain(initialize(adapter))).toBe(200);
    await eventually(() => drain(initialize(adapter, { path: '/mcp/late' }))).toBe(503);
    await late.listenAgain();
    await eventually(() => drain(initialize(adapter, { path: '/mcp/late' }))).toBe(200);
  });
});
