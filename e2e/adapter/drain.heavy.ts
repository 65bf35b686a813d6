import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../support/adapter-process.ts';
import { failedOf } from '../support/balancer.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { connectV1 } from '../support/real-client-v1.ts';
import { connectV2 } from '../support/real-client-v2.ts';
import { RECONNECTION } from '../support/real-client.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { artifactOf } from './files/kit/artifacts.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { EventReader, isMethod, isResponse } from './kit/events.ts';
import { type Door, drain, initialize, openSession, textOf } from './kit/session.ts';

/** Longer than an exit takes on a busy machine, shorter than anything that could hold it up. */
const SOON_MS = 10_000;
const DONE = { code: 0, signal: null };

describe('SIGTERM', () => {
  let upstream: ScriptedUpstream;
  const adapters: RunningAdapter[] = [];

  beforeEach(async () => {
    upstream = await startScriptedUpstream();
  });
  afterEach(async () => {
    for (const adapter of adapters.splice(0)) {
      adapter.kill();
      await adapter.exited;
    }
    await upstream.close();
  });

  async function start(
    changes: JsonObject = {},
    core: JsonObject = {},
    env?: NodeJS.ProcessEnv,
  ): Promise<RunningAdapter> {
    const config = {
      core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false }, shutdown_grace_seconds: 60, ...core },
      state_persistence: { type: 'memory' },
      servers: [mounted('up', upstream.url)],
      ...changes,
    };
    const adapter = await startAdapter({ config, env });
    adapters.push(adapter);
    return adapter;
  }
  const open = async (adapter: RunningAdapter): Promise<Door> => (await openSession(adapter)).at(adapter);

  /** Waits until the adapter has noticed its signal: nothing else makes it unready. */
  async function unready(adapter: RunningAdapter): Promise<Response> {
    let response: Response | undefined;
    await eventually(async () => {
      response = await fetch(`${adapter.url}/readyz`);
      return response.status;
    }).toBe(503);
    if (response === undefined) throw new Error('no answer');
    return response;
  }

  test.for([
    ['SIGTERM', 60],
    ['SIGINT', 1e9],
  ] as const)('lets a running call finish with its result: %s, up to %d s', async ([signal, seconds]) => {
    const adapter = await start({}, { shutdown_grace_seconds: seconds });
    const running = (await open(adapter)).tool('slow');
    await upstream.waitForMessage('tools/call');
    adapter.kill(signal);
    await unready(adapter);
    upstream.release('slow');
    expect(textOf(await running)).toBe('done');
    expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
    expect(adapter.stderr()).toBe('');
  });

  test('makes the replica unready at once and refuses new sessions, while those that are open go on', async () => {
    const adapter = await start();
    const door = await open(adapter);
    expect(await drain(fetch(`${adapter.url}/readyz`))).toBe(200);
    const running = door.tool('slow');
    await upstream.waitForMessage('tools/call');
    adapter.kill('SIGTERM');
    const notReady = await unready(adapter);
    expect(await notReady.json()).toEqual({ status: 'unavailable', reason: 'draining' });
    expect(Number(notReady.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(notReady.headers.get('connection')).toBe('close');
    expect(await drain(fetch(`${adapter.url}/livez`))).toBe(200);

    const refused = await initialize(adapter);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect(await refused.json()).toEqual({
      jsonrpc: '2.0',
      id: 'init',
      error: {
        code: 503,
        message: 'This replica is shutting down; open the session again elsewhere.',
        data: { code: 'draining' },
      },
    });
    expect(upstream.initializes).toHaveLength(1);
    expect(textOf(await door.tool('echo', { a: 1 }))).toBe('{"a":1}');
    upstream.release('slow');
    expect(textOf(await running)).toBe('done');
    expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
  });

  test('answers once more on a connection that a client keeps, and says that it ends with that', async () => {
    const adapter = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (): Promise<unknown[]> => {
      const outgoing = request(`${adapter.url}/livez`, { agent }).end();
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      incoming.resume();
      await once(incoming, 'end');
      return [incoming.statusCode, incoming.headers.connection, outgoing.reusedSocket];
    };
    expect(await ask()).toEqual([200, 'keep-alive', false]);
    adapter.kill('SIGTERM');
    await unready(adapter);
    expect(await ask()).toEqual([200, 'close', true]);
    expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
    agent.destroy();
  });

  test('answers on the connection of a stream that it has ended', async () => {
    const adapter = await start();
    const { sessionId } = await openSession(adapter);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const version = { 'mcp-protocol-version': '2025-11-25' };
    const headers = { ...version, 'mcp-session-id': sessionId, accept: 'application/json, text/event-stream' };
    const stream = request(`${adapter.url}/mcp/up`, { agent, headers }).end();
    const [events] = (await once(stream, 'response')) as [IncomingMessage];
    // Waits for the only connection, and is sent in the moment in which the stream has ended.
    const call = request(`${adapter.url}/mcp/up`, {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
    });
    call.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } }));
    const answered = once(call, 'response') as Promise<[IncomingMessage]>;
    const connection = stream.socket;
    adapter.kill('SIGTERM');
    expect(await text(events)).not.toContain('error');
    const [answer] = await answered;
    expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close']);
    expect(call.socket).toBe(connection);
    expect(await text(answer)).toContain('"id":1');
    expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
    agent.destroy();
  });

  test('leaves nobody without a session when other replicas have it too', async () => {
    const config = { core: { shutdown_grace_seconds: 60 }, servers: [mounted('up', upstream.url)] };
    await using replicas = await startDeployment({ config });
    const running = (await openSession(replicas.a)).at(replicas.a).tool('slow');
    await upstream.waitForMessage('tools/call');
    replicas.a.kill('SIGTERM');
    await unready(replicas.a);
    const session = await openSession(replicas.a);
    upstream.release('slow');
    expect(textOf(await running)).toBe('done');
    expect(await replicas.a.exitsWithin(SOON_MS)).toEqual(DONE);
    expect(textOf(await session.at(replicas.b).tool('echo', { a: 1 }))).toBe('{"a":1}');
  });

  describe('O20: lets event streams go on elsewhere, without an error', () => {
    /** Replica `a` ends, and a call holds it up until it is released. */
    async function ending(): Promise<Deployment & { readonly running: Promise<JsonObject> }> {
      const config = { core: { shutdown_grace_seconds: 60 }, servers: [mounted('up', upstream.url)] };
      const replicas = await startDeployment({ config });
      const running = (await openSession(replicas.a)).at(replicas.a).tool('slow');
      await upstream.waitForMessage('tools/call');
      return Object.assign(replicas, { running });
    }

    test('by telling it again where it was to be taken up, on a connection that ends', async () => {
      await using replicas = await ending();
      const session = await openSession(replicas.b);
      replicas.a.kill('SIGTERM');
      await unready(replicas.a);
      const lastEventId = 'some|7-0';
      for (const [sent, got] of [
        [{}, ''],
        [{ lastEventId }, 'id: some|7-0\ndata: \n\n'],
      ] as const) {
        const response = await session.at(replicas.a).stream(sent);
        expect([response.status, response.headers.get('connection'), await response.text()]).toEqual([
          200,
          'close',
          got,
        ]);
      }
      const events = new EventReader(await session.at(replicas.b).stream());
      await session.at(replicas.a).tool('notify');
      expect(await events.message()).toMatchObject({ method: 'notifications/message' });
      upstream.release('slow');
      expect(textOf(await replicas.running)).toBe('done');
    });

    test.for([
      ['1', connectV1],
      ['2', connectV2],
    ] as const)('for clients of the SDK, version %s', async ([, connectSdk]) => {
      await using replicas = await ending();
      const { a, b, balancer } = replicas;
      balancer.targets = [a.url];
      await using client = await connectSdk({
        url: `${balancer.url}/mcp/up`,
        transport: 'streamable_http',
        answers: { sampling: '', elicitation: { action: 'decline' }, roots: [] },
        // As many retries as by default, and sooner.
        reconnection: { ...RECONNECTION, initialReconnectionDelay: 50, maxRetries: 2 },
      });
      a.kill('SIGTERM');
      await unready(a);
      upstream.breakStreams();
      // More often than it would have borne errors.
      await eventually(() => client.streams()).toBeGreaterThan(6);
      balancer.targets = [b.url];
      await eventually(() =>
        balancer.requests.some(({ method, target, status }) => method === 'GET' && target === b.url && status === 200),
      ).toBe(true);
      await client.callTool('notify');
      await client.waitForMessage(({ method }) => method === 'notifications/message');
      expect(failedOf(balancer.requests)).toEqual([]);
      upstream.release('slow');
      expect(textOf(await replicas.running)).toBe('done');
    });
  });

  test('lets a call finish on its stream, and ends the session’s own stream without an error', async () => {
    const adapter = await start();
    const door = await open(adapter);
    const events = new EventReader(await door.stream());
    const params = { name: 'progress', arguments: { hold: 'go' }, _meta: { progressToken: 'p' } };
    const call = new EventReader(await door.request('tools/call', params));
    await call.message(isMethod('notifications/progress'));
    adapter.kill('SIGTERM');
    await unready(adapter);
    await door.tool('notify');
    expect(await events.message()).toMatchObject({ method: 'notifications/message' });
    upstream.release('go');
    expect(textOf(await call.message(isResponse))).toBe('done');
    expect(await call.rest()).toEqual([]);
    expect(await events.rest()).toEqual([]);
    expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
  });

  test('lets a large answer reach a slow client as a whole', async () => {
    const adapter = await start();
    const door = await open(adapter);
    const bytes = 8 * 2 ** 20;
    const response = await door.request('tools/call', { name: 'big', arguments: { bytes } });
    adapter.kill('SIGTERM');
    await unready(adapter);
    const message = asObject(await response.json());
    expect(textOf(message).length).toBe(bytes);
    expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
  });

  /** Begins to download a file that a tool has made, and takes nothing of it yet. */
  async function download(bytes: number, core: JsonObject = {}): Promise<[RunningAdapter, IncomingMessage]> {
    const definition = { inputSchema: { type: 'object', properties: {} } };
    upstream.tools.set('make', {
      definition,
      call: async (made) => {
        await writeFile(String(made.arguments.out), Buffer.alloc(bytes));
        return { resultText: '{"content":[]}' };
      },
    });
    const entry = { type: 'artifact_producer', tools: ['make'], output_path_argument: 'out' };
    const servers = [mounted('up', upstream.url, { adapters: [entry] })];
    const adapter = await start({ servers }, { allow_artifacts_download: true, ...core });
    const { downloadUrl = 'no URL' } = artifactOf(await (await open(adapter)).tool('make'));
    const [incoming] = (await once(request(downloadUrl).end(), 'response')) as [IncomingMessage];
    return [adapter, incoming];
  }

  test('lets a download reach a slow client as a whole', async () => {
    const bytes = 64 * 2 ** 20;
    const [adapter, incoming] = await download(bytes);
    adapter.kill('SIGTERM');
    await unready(adapter);
    // Longer than connections that nobody uses are kept open then.
    await delay(11_000);
    let taken = 0;
    for await (const chunk of incoming) taken += (chunk as Buffer).length;
    expect(taken).toBe(bytes);
    expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
  });

  describe('when the time is over', () => {
    const error = { code: 503, data: { code: 'draining' } };

    test.for<[string, JsonObject, NodeJS.ProcessEnv | undefined, JsonObject]>([
      ['as configured', { shutdown_grace_seconds: 0.2 }, undefined, {}],
      ['as configured, in no whole milliseconds', { shutdown_grace_seconds: 0.2001 }, undefined, {}],
      ['as the environment says', {}, { MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS: '0.2' }, {}],
      [
        'with calls that are counted',
        { shutdown_grace_seconds: 0.2 },
        undefined,
        { sessions: { max_in_flight_per_session: 5 } },
      ],
    ])('cuts calls off with an error and exits all the same: %s', async ([, core, env, changes]) => {
      const adapter = await start(changes, core, env);
      const door = await open(adapter);
      const silent = door.request('tools/call', { name: 'slow' });
      const params = { name: 'progress', arguments: { hold: 'never' }, _meta: { progressToken: 'p' } };
      const streaming = new EventReader(await door.request('tools/call', params));
      await streaming.message(isMethod('notifications/progress'));
      await upstream.waitForRequest(({ text: body }) => body.includes('"slow"'));
      adapter.kill('SIGTERM');
      const answer = await silent;
      expect([answer.status, await answer.json()]).toEqual([
        503,
        expect.objectContaining({ id: 1, error: expect.objectContaining(error) }),
      ]);
      expect(await streaming.message(isResponse)).toMatchObject({ id: 2, error });
      expect(await streaming.rest()).toEqual([]);
      expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
      for (const { disconnected } of upstream.requestsOf('tools/call')) {
        await eventually(() => disconnected.aborted).toBe(true);
      }
    });

    test('just ends a stream that the client can resume elsewhere', async () => {
      upstream.behavior.eventIds = true;
      const adapter = await start({}, { shutdown_grace_seconds: 0 });
      const door = await open(adapter);
      const params = { name: 'progress', arguments: { hold: 'never' }, _meta: { progressToken: 'p' } };
      const streaming = new EventReader(await door.request('tools/call', params));
      await streaming.message(isMethod('notifications/progress'));
      adapter.kill('SIGTERM');
      expect(await streaming.rest()).toEqual([]);
      expect(streaming.lastEventId).toBeDefined();
      expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
    });
  });

  test('given a second time ends the program at once', async () => {
    const adapter = await start();
    const running = (await open(adapter)).tool('slow');
    running.catch(() => undefined);
    await upstream.waitForMessage('tools/call');
    adapter.kill('SIGTERM');
    await unready(adapter);
    adapter.kill('SIGTERM');
    expect(await adapter.exitsWithin(SOON_MS)).toEqual({ code: 1, signal: null });
    await expect(running).rejects.toThrow();
  });

  describe('is not held up', () => {
    test('by connections that are idle, new or half-way through a request', async () => {
      const adapter = await start();
      const agent = new Agent({ keepAlive: true, keepAliveMsecs: 60_000 });
      const idle = Array.from({ length: 20 }, async () => {
        const outgoing = request(`${adapter.url}/livez`, { agent }).end();
        const [incoming] = await once(outgoing, 'response');
        return text(incoming);
      });
      await Promise.all(idle);
      const sockets = await Promise.all(
        ['', 'POST /mcp/up HTTP/1.1\r\n', 'POST /mcp/up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{'].map(
          async (bytes) => {
            const socket = connect(adapter.port, '127.0.0.1');
            socket.on('error', () => undefined);
            await once(socket, 'connect');
            socket.write(bytes);
            return socket;
          },
        ),
      );
      await drain(fetch(`${adapter.url}/livez`));
      adapter.kill('SIGTERM');
      expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
      agent.destroy();
      for (const socket of sockets) socket.destroy();
    });

    test('by a client that does not read its stream', async () => {
      const adapter = await start({}, { shutdown_grace_seconds: 0.1 });
      const door = await open(adapter);
      const response = await door.request('tools/call', { name: 'big', arguments: { bytes: 64 * 2 ** 20 } });
      expect(response.status).toBe(200);
      adapter.kill('SIGTERM');
      expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
      await response.body?.cancel().catch(() => undefined);
    });

    test('by a client that does not read its download', async () => {
      const [adapter, incoming] = await download(64 * 2 ** 20, { shutdown_grace_seconds: 0.1 });
      adapter.kill('SIGTERM');
      expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
      incoming.on('error', () => undefined).destroy();
    });

    test('by an upstream that never answers its pings', async () => {
      await using silent = await startRawUpstream(() => new Promise(() => {}));
      const ping = { enabled: true, timeout_seconds: 60 };
      const adapter = await start({ servers: [mounted('up', `${silent.url}/mcp`)] }, { upstream_ping: ping });
      await silent.waitForRequest(() => true);
      adapter.kill('SIGTERM');
      expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
    });

    test('by the wait for upstreams at the start', async () => {
      await upstream.die();
      const adapter = await start({}, { max_start_wait_seconds: 60, upstream_ping: { enabled: true } });
      adapter.kill('SIGTERM');
      expect(await adapter.exitsWithin(SOON_MS)).toEqual(DONE);
    });
  });
});
