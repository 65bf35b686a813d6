import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { drain, initialize, openSession, textOf } from './kit/session.ts';
import { type SseUpstream, startSseUpstream } from './kit/sse-upstream.ts';

const PING = {
  interval_seconds: 0.1,
  timeout_seconds: 1,
  failure_threshold: 3,
  open_cooldown_seconds: 1,
  half_open_probe_allowance: 2,
};
const SOON = { timeout: 10_000, interval: 20 };

const start = (servers: JsonObject[], core: JsonObject = {}): Promise<RunningAdapter> =>
  startAdapter({
    config: {
      core: { max_start_wait_seconds: 0, upstream_ping: PING, shutdown_grace_seconds: 0, ...core },
      state_persistence: { type: 'memory' },
      servers,
    },
  });

/** `/healthz`: its status, the whole object, and the entries of the servers by id. */
async function health(adapter: RunningAdapter): Promise<{ status: number; body: JsonObject; of: Entries }> {
  const response = await fetch(`${adapter.url}/healthz`);
  const body = asObject(await response.json());
  const entries = (Array.isArray(body.servers) ? body.servers : []).map(asObject);
  return { status: response.status, body, of: (id) => asObject(entries.find((entry) => entry.server_id === id)) };
}
type Entries = (serverId: string) => JsonObject;

const stateOf = async (adapter: RunningAdapter, id: string): Promise<unknown> =>
  asObject((await health(adapter)).of(id).breaker).state;

describe('with pings every tenth of a second', () => {
  let upstream: ScriptedUpstream;
  let other: ScriptedUpstream;
  let legacy: SseUpstream;
  let adapter: RunningAdapter;

  beforeAll(async () => {
    [upstream, other, legacy] = await Promise.all([
      startScriptedUpstream(),
      startScriptedUpstream(),
      startSseUpstream(),
    ]);
    const sse = mounted('legacy', legacy.url, { upstream: { transport: 'sse' } });
    // Long enough for all that is looked at while it is open.
    const up = mounted('up', upstream.url, { upstream_ping: { open_cooldown_seconds: 2 } });
    adapter = await start([up, mounted('other', other.url), sse]);
  });
  afterAll(async () => {
    await adapter?.stop();
    await Promise.all([upstream?.close(), other?.close(), legacy?.close()]);
  });

  test('an upstream that dies is taken out after three failed pings, and comes back by two good ones', async () => {
    await expect.poll(async () => (await health(adapter)).status, SOON).toBe(200);
    const session = await openSession(adapter);
    const mine = session.at(adapter);
    const doomed = (await openSession(adapter)).at(adapter);
    const elsewhere = (await openSession(adapter, { path: '/mcp/other' })).at(adapter);
    await upstream.die();

    const seen: { state: unknown; failures: number }[] = [];
    async function look(): Promise<unknown> {
      const breaker = asObject((await health(adapter)).of('up').breaker);
      seen.push({ state: breaker.state, failures: Number(breaker.consecutive_failures) });
      return breaker.state;
    }
    await expect.poll(look, SOON).toBe('open');
    for (const { state, failures } of seen) expect(state).toBe(failures < 3 ? 'closed' : 'open');

    const refused = await mine.request('tools/call', { name: 'echo', arguments: {} });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[12]$/);
    expect(await refused.json()).toMatchObject({
      id: 1,
      error: {
        message: expect.stringContaining('"up"') as unknown,
        data: { code: 'upstream_unavailable' },
      },
    });
    expect(await drain(initialize(adapter))).toBe(503);
    expect(await drain(mine.stream())).toBe(503);

    const { status, body, of } = await health(adapter);
    expect(status).toBe(503);
    expect(body).toMatchObject({ status: 'degraded', degraded_reason: 'upstream_unhealthy' });
    expect(of('up')).toMatchObject({
      status: 'degraded',
      mount_path: '/mcp/up',
      detail: 'upstream_unhealthy',
      ping: { last_error: expect.stringContaining('ECONNREFUSED') as unknown },
    });
    expect(of('other')).toMatchObject({ status: 'ok', breaker: { state: 'closed' }, ping: { last_error: null } });
    expect(textOf(await elsewhere.tool('echo'))).toBe('{}');
    expect(await drain(fetch(`${adapter.url}/readyz`))).toBe(200);

    // A client that goes needs no upstream.
    expect(await drain(doomed.end())).toBe(200);

    // So slow that both probes take longer than it takes to look.
    upstream.behavior.headerDelayMs = 100;
    await upstream.listenAgain();
    await expect.poll(() => stateOf(adapter, 'up'), SOON).toBe('half_open');
    const successes: number[] = [];
    async function lookAgain(): Promise<unknown> {
      const breaker = asObject((await health(adapter)).of('up').breaker);
      if (breaker.state === 'half_open') successes.push(Number(breaker.half_open_success_count));
      return breaker.state;
    }
    await expect.poll(lookAgain, SOON).toBe('closed');
    expect(Math.max(0, ...successes)).toBeLessThan(2);
    upstream.behavior.headerDelayMs = 0;
    expect((await health(adapter)).body).toMatchObject({ status: 'ok' });
    expect(textOf(await mine.tool('echo', { back: 1 }))).toBe('{"back":1}');
    expect(await drain(doomed.request('ping'))).toBe(404);
  });

  test('an upstream of the transport sse is pinged too', async () => {
    const initialized = await initialize(adapter, { path: '/mcp/legacy' });
    expect(await drain(Promise.resolve(initialized))).toBe(200);
    await legacy.die();
    await expect.poll(() => stateOf(adapter, 'legacy'), SOON).toBe('open');
    const refused = await initialize(adapter, { path: '/mcp/legacy' });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { data: { code: 'upstream_unavailable' } } });
    await legacy.listenAgain();
    await expect.poll(() => stateOf(adapter, 'legacy'), SOON).toBe('closed');
    expect(await drain(initialize(adapter, { path: '/mcp/legacy' }))).toBe(200);
  });
});

test('with pings off the breaker stays closed, whatever calls come to, and health is ok', async () => {
  await using dead = await startScriptedUpstream();
  await dead.die();
  await using adapter = await start([mounted('up', dead.url, { upstream_ping: { enabled: false } })]);
  for (let attempt = 0; attempt < 6; attempt += 1) expect(await drain(initialize(adapter))).toBe(502);
  const { status, body, of } = await health(adapter);
  expect({ status, overall: body.status }).toEqual({ status: 200, overall: 'ok' });
  expect(of('up')).toMatchObject({
    status: 'ok',
    detail: 'upstream_ping_disabled',
    breaker: { state: 'closed', consecutive_failures: 0 },
  });
  expect(of('up')).not.toHaveProperty('ping');
});

test('every server may have pings of its own: what it does not set it takes from the core', async () => {
  await using dead = await startScriptedUpstream();
  await dead.die();
  await using hanging = await startRawUpstream(() => new Promise(() => {}));
  await using guarded = await startScriptedUpstream();
  guarded.behavior.intercept = () => ({ status: 401, headers: { 'www-authenticate': 'Bearer' }, body: '' });
  const own = { timeout_seconds: 0.2, failure_threshold: 2, open_cooldown_seconds: 60 };
  await using adapter = await start([
    mounted('patient', dead.url, { upstream_ping: { failure_threshold: 1_000_000 } }),
    mounted('hanging', hanging.url, { upstream_ping: own }),
    mounted('guarded', guarded.url),
  ]);

  // It accepts connections and says nothing: each ping fails when its time is over.
  await expect.poll(() => stateOf(adapter, 'hanging'), SOON).toBe('open');
  const { of } = await health(adapter);
  expect(of('hanging')).toMatchObject({
    breaker: { consecutive_failures: 2, failure_threshold: 2, open_cooldown_seconds: 60, half_open_probe_allowance: 2 },
    ping: { interval_seconds: 0.1, timeout_seconds: 0.2, last_error: 'no answer to initialize within 0.2 s' },
  });
  const refused = await initialize(adapter, { path: '/mcp/hanging' });
  expect(refused.status).toBe(503);
  const retryAfter = Number(refused.headers.get('retry-after'));
  expect(retryAfter).toBeGreaterThan(30);
  expect(retryAfter).toBeLessThanOrEqual(60);

  const failures = async (): Promise<number> =>
    Number(asObject((await health(adapter)).of('patient').breaker).consecutive_failures);
  await expect.poll(failures, SOON).toBeGreaterThan(3);
  expect((await health(adapter)).of('patient')).toMatchObject({ status: 'degraded', breaker: { state: 'closed' } });
  expect(await drain(initialize(adapter, { path: '/mcp/patient' }))).toBe(502);

  // Who asks for credentials is alive.
  await expect.poll(() => guarded.requestsOf('initialize').length, SOON).toBeGreaterThan(4);
  expect((await health(adapter)).of('guarded')).toMatchObject({
    status: 'ok',
    breaker: { state: 'closed', consecutive_failures: 0 },
  });
});

test('half open, requests of clients are the probes: a failure opens it again, two successes close it', async () => {
  await using upstream = await startScriptedUpstream();
  await upstream.die();
  // One ping, at the start, which opens it; the next one would come after the test.
  const rare = { interval_seconds: 600, failure_threshold: 1 };
  await using adapter = await start([mounted('up', upstream.url, { upstream_ping: rare })]);
  await expect.poll(() => stateOf(adapter, 'up'), SOON).toBe('open');
  expect(await drain(initialize(adapter))).toBe(503);
  await expect.poll(() => stateOf(adapter, 'up'), SOON).toBe('half_open');
  expect(await drain(initialize(adapter))).toBe(502);
  expect(await stateOf(adapter, 'up')).toBe('open');
  expect(await drain(initialize(adapter))).toBe(503);

  await upstream.listenAgain();
  await expect.poll(() => stateOf(adapter, 'up'), SOON).toBe('half_open');
  upstream.behavior.headerDelayMs = 500;
  const probes = [initialize(adapter), initialize(adapter)];
  await expect.poll(() => upstream.requestsOf('initialize').length, SOON).toBe(2);
  expect(await drain(initialize(adapter))).toBe(503);
  expect(await Promise.all(probes.map(drain))).toEqual([200, 200]);
  expect(await stateOf(adapter, 'up')).toBe('closed');
});

describe('at the start', () => {
  test('the port is open while an upstream is missing; health says so after the wait, and recovers', async () => {
    await using upstream = await startScriptedUpstream();
    await using there = await startScriptedUpstream();
    await upstream.die();
    const servers = [mounted('late', upstream.url), mounted('there', there.url)];
    await using adapter = await start(servers, { max_start_wait_seconds: 3 });
    // It is listening, and live; that is what starting it has waited for.
    const early = await health(adapter);
    expect(early.body).not.toHaveProperty('startup');
    expect(early.of('late')).toMatchObject({ breaker: { state: 'closed' } });
    expect(await drain(initialize(adapter, { path: '/mcp/there' }))).toBe(200);

    await expect.poll(async () => (await health(adapter)).body, SOON).toHaveProperty('startup');
    const late = await health(adapter);
    expect(late.status).toBe(503);
    expect(late.body).toMatchObject({
      status: 'degraded',
      degraded_reason: 'upstream_unhealthy',
      startup: { ready_within_wait_budget: false, max_start_wait_seconds: 3, not_ready_servers: ['late'] },
    });
    expect(asObject(late.body.startup).waited_seconds).toBeGreaterThanOrEqual(3);

    await upstream.listenAgain();
    await expect.poll(async () => (await health(adapter)).status, SOON).toBe(200);
    expect(await drain(initialize(adapter, { path: '/mcp/late' }))).toBe(200);
  });

  test('an upstream that comes while it is waited for is in time', async () => {
    await using upstream = await startScriptedUpstream();
    await upstream.die();
    // What fails while it is waited for is not held against it: one failed ping would take it out for a minute.
    const strict = { failure_threshold: 1, open_cooldown_seconds: 60 };
    const servers = [mounted('up', upstream.url, { upstream_ping: strict })];
    await using adapter = await start(servers, { max_start_wait_seconds: 30 });
    await expect.poll(async () => (await health(adapter)).status, SOON).toBe(503);
    await upstream.listenAgain();
    await expect.poll(async () => (await health(adapter)).status, SOON).toBe(200);
    await expect
      .poll(async () => (await health(adapter)).body, SOON)
      .toMatchObject({
        status: 'ok',
        startup: { ready_within_wait_budget: true, not_ready_servers: [] },
      });
  });

  test('0 waits for nobody', async () => {
    await using upstream = await startScriptedUpstream();
    await upstream.die();
    await using adapter = await start([mounted('up', upstream.url)]);
    const { body } = await health(adapter);
    expect(body).toMatchObject({
      startup: { ready_within_wait_budget: true, max_start_wait_seconds: 0, not_ready_servers: [] },
    });
    await expect.poll(() => stateOf(adapter, 'up'), SOON).toBe('open');
  });
});
