import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { startRedis } from '../support/redis.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from './kit/deployment.ts';
import { EventReader, isMethod } from './kit/events.ts';
import { drain, initialize, openSession, textOf } from './kit/session.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const SOON = { timeout: 5_000, interval: 20 };
const EXIT_MS = 5_000;

interface Settings {
  readonly graceSeconds?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly more?: JsonObject;
}

const start = (upstreamUrl: string, { graceSeconds = 60, env, more }: Settings = {}): Promise<RunningAdapter> => {
  const core = { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, shutdown_grace_seconds: graceSeconds };
  const config = { core, state_persistence: { type: 'memory' }, servers: [mounted('up', upstreamUrl)], ...more };
  return startAdapter({ config, ...(env === undefined ? {} : { env }) });
};

const readiness = async (adapter: RunningAdapter): Promise<number> => drain(fetch(`${adapter.url}/readyz`));

/** A connection on which one request was answered and that is kept open for the next. */
async function idleConnection(adapter: RunningAdapter): Promise<Socket> {
  const socket = connect(adapter.port, '127.0.0.1');
  socket.write('GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 [^]*\r\nconnection: keep-alive\r\n/i);
  return socket;
}

describe.for(SIGNALS)('%s', (signal) => {
  test('lets the running call finish while sessions go on and no new ones begin, ends streams, exits with 0', async () => {
    await using upstream = await startScriptedUpstream();
    await using adapter = await start(upstream.url);
    const session = (await openSession(adapter)).at(adapter);
    const stream = new EventReader(await session.stream());
    const running = session.tool('slow');
    await upstream.waitForMessage('tools/call');

    adapter.kill(signal);
    await expect.poll(() => readiness(adapter), SOON).toBe(503);
    const readyz = await fetch(`${adapter.url}/readyz`);
    expect(readyz.headers.get('retry-after')).toBe('1');
    expect(await readyz.json()).toEqual({ status: 'unavailable', reason: 'draining' });
    expect(await drain(fetch(`${adapter.url}/livez`))).toBe(200);

    const refused = await initialize(adapter);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ id: 'init', error: { data: { code: 'draining' } } });

    const served = await session.request('tools/call', { name: 'echo', arguments: { still: 'served' } });
    expect(served.headers.get('connection')).toBe('close');
    expect(textOf(asObject(await served.json()))).toBe('{"still":"served"}');
    expect(await session.call('prompts/list')).toMatchObject({ result: { prompts: [] } });
    expect(textOf(await session.tool('notify'))).toBe('sent');
    expect(await stream.message()).toMatchObject({ method: 'notifications/message' });
    expect(adapter.hasExited()).toBe(false);

    upstream.release('slow');
    expect(textOf(await running)).toBe('done');
    // Rejects when the connection is reset.
    expect(await stream.rest()).toEqual([]);
    expect(await adapter.exitsWithin(EXIT_MS)).toEqual({ code: 0, signal: null });
  });

  test('a second time ends the program at once, with 1', async () => {
    await using upstream = await startScriptedUpstream();
    await using adapter = await start(upstream.url);
    const running = (await openSession(adapter)).at(adapter).tool('slow');
    const broken = expect(running).rejects.toThrow();
    await upstream.waitForMessage('tools/call');
    adapter.kill('SIGTERM');
    await expect.poll(() => readiness(adapter), SOON).toBe(503);
    adapter.kill(signal);
    expect(await adapter.exitsWithin(EXIT_MS)).toEqual({ code: 1, signal: null });
    await broken;
  });
});

const limits: { by: string; settings: Settings }[] = [
  { by: 'core.shutdown_grace_seconds', settings: { graceSeconds: 0.5 } },
  {
    by: 'MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS',
    settings: { graceSeconds: 60, env: { MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS: '0.5' } },
  },
];

test.for(limits)('calls that run longer than $by allows are answered with an error', async ({ settings }) => {
  await using upstream = await startScriptedUpstream();
  await using adapter = await start(upstream.url, settings);
  const session = (await openSession(adapter)).at(adapter);
  const silent = session.request('tools/call', { name: 'slow', arguments: {} });
  const params = { name: 'progress', arguments: { hold: 'for ever' }, _meta: { progressToken: 'p' } };
  const streamed = new EventReader(await session.request('tools/call', params));
  await streamed.message(isMethod('notifications/progress'));
  await upstream.waitForRequest(({ text }) => text.includes('"slow"'));

  const signalled = performance.now();
  adapter.kill('SIGTERM');
  const answer = await silent;
  expect(performance.now() - signalled).toBeGreaterThanOrEqual(450);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', id: 1, error: { data: { code: 'draining' } } });
  expect(await streamed.rest()).toMatchObject([{ id: 2, error: { data: { code: 'draining' } } }]);
  expect(await adapter.exitsWithin(EXIT_MS)).toEqual({ code: 0, signal: null });
  const abandoned = upstream.requestsOf('tools/call').map(({ disconnected }) => disconnected.aborted);
  expect(abandoned).toEqual([true, true]);
});

test('idle connections and event streams do not hold the end up', async () => {
  await using upstream = await startScriptedUpstream();
  await using adapter = await start(upstream.url);
  const stream = new EventReader(await (await openSession(adapter)).at(adapter).stream());
  const sockets = await Promise.all([idleConnection(adapter), idleConnection(adapter)]);
  const closed = Promise.all(sockets.map((socket) => once(socket, 'end')));
  adapter.kill('SIGTERM');
  // Less than the two seconds after which whatever is left is cut off.
  expect(await adapter.exitsWithin(1_800)).toEqual({ code: 0, signal: null });
  expect(await stream.rest()).toEqual([]);
  await closed;
});

test('a call that is still being looked up in Redis when the signal comes is not lost', async () => {
  await using redis = await startRedis();
  await using upstream = await startScriptedUpstream();
  const { host, port } = redis;
  await using adapter = await start(upstream.url, {
    more: { state_persistence: { type: 'redis', redis: { host, port } } },
  });
  const session = (await openSession(adapter)).at(adapter);
  await redis.pause();
  const running = session.tool('slow');
  // Asked later, so the call has come in when this is answered.
  expect(await drain(fetch(`${adapter.url}/livez`))).toBe(200);
  adapter.kill('SIGTERM');
  await expect.poll(() => readiness(adapter), SOON).toBe(503);
  await redis.resume();
  await upstream.waitForMessage('tools/call');
  upstream.release('slow');
  expect(textOf(await running)).toBe('done');
  expect(await adapter.exitsWithin(EXIT_MS)).toEqual({ code: 0, signal: null });
});

describe('sessions in SQLite', () => {
  const restarts = [
    { end: 'SIGTERM', forgets: false },
    { end: 'SIGTERM', forgets: true },
    { end: 'SIGKILL', forgets: true },
  ] as const;

  test.for(restarts)('go on after $end and a restart (the upstream forgets: $forgets)', async ({ end, forgets }) => {
    const folder = await mkdtemp(join(tmpdir(), 'drain-'));
    await using opened = new AsyncDisposableStack();
    opened.defer(() => rm(folder, { recursive: true, force: true }));
    const upstream = opened.use(await startScriptedUpstream());
    const more = { state_persistence: { type: 'disk' }, storage: { root: folder } };
    const first = opened.use(await start(upstream.url, { more }));
    const session = await openSession(first);
    expect(textOf(await session.at(first).tool('echo', { before: 1 }))).toBe('{"before":1}');
    first.kill(end);
    await first.exited;
    if (forgets) upstream.forgetSessions();

    const second = opened.use(await start(upstream.url, { more }));
    expect(textOf(await session.at(second).tool('echo', { after: 1 }))).toBe('{"after":1}');
    expect(upstream.initializes).toHaveLength(forgets ? 2 : 1);
    expect(await drain(session.at(second).end())).toBe(200);
    expect(upstream.sessions.size).toBe(0);
  });
});
