import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader, isResponse } from './kit/events.ts';
import { drain, openSession, textOf } from './kit/session.ts';
import { type SseUpstream, startSseUpstream } from './kit/sse-upstream.ts';

/** The lease of an owner is 5 s, and looked at every 1.5 s; the rest is for a busy machine. */
const OWNER_LOST_MS = 10_000;

describe('a session of HTTP+SSE whose stream is read by one of two replicas', { timeout: 30_000 }, () => {
  let upstream: SseUpstream;
  let deployment: Deployment;
  const client = new AbortController();
  const { signal } = client;

  beforeAll(async () => {
    upstream = await startSseUpstream();
    const servers = [mounted('up', upstream.url, { upstream: { transport: 'sse' } })];
    deployment = await startDeployment({ config: { servers } });
  });
  afterEach(async () => {
    for (const name of ['a', 'b'] as const) if (deployment[name].hasExited()) await deployment.restart(name);
  });
  afterAll(async () => {
    client.abort();
    await deployment?.close();
    await upstream?.close();
  });
  const arrived = (key: string) => upstream.waitForRequest(({ text }) => text.includes(`"${key}"`));

  test('when the reading replica is killed, calls on the other one fail within seconds, and the next call works', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    await session.at(b).call('logging/setLevel', { level: 'debug' });
    const before = upstream.initializes.length;
    const call = session.at(b).request('tools/call', { name: 'slow', arguments: { key: 'orphan' } });
    const stream = new EventReader(await session.at(b).stream({ signal }));
    await arrived('orphan');

    a.kill('SIGKILL');
    await a.exited;
    const killedAt = performance.now();
    const failed = new EventReader(await call).rest(OWNER_LOST_MS);
    expect(await failed).toMatchObject([{ id: 2, error: { code: 502 } }]);
    expect(await stream.rest(OWNER_LOST_MS)).toEqual([]);
    expect(performance.now() - killedAt).toBeLessThan(OWNER_LOST_MS);

    const calls = await Promise.all(Array.from({ length: 10 }, (_, n) => session.at(b).tool('echo', { n })));
    expect(calls.map(textOf)).toEqual(Array.from({ length: 10 }, (_, n) => `{"n":${n}}`));
    expect(upstream.initializes.length).toBe(before + 1);
    expect(upstream.requestsOf('logging/setLevel')).toHaveLength(2);
    expect(upstream.requestsOf('logging/setLevel').at(-1)?.json).toMatchObject({ params: { level: 'debug' } });

    // The new reader serves the replica that comes back.
    await deployment.restart('a');
    expect(textOf(await session.at(deployment.a).tool('echo', { back: 1 }))).toBe('{"back":1}');
    expect(upstream.initializes.length).toBe(before + 1);
  });

  test('when the reading replica is killed, a call right after it works at once', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    expect(textOf(await session.at(b).tool('echo'))).toBe('{}');
    a.kill('SIGKILL');
    await a.exited;
    const killedAt = performance.now();
    expect(textOf(await session.at(b).tool('echo', { after: 1 }))).toBe('{"after":1}');
    expect(performance.now() - killedAt).toBeLessThan(OWNER_LOST_MS);
  });

  test('when the reading replica stops in order, the next call works', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    expect(await a.stop()).toEqual({ code: 0, signal: null });
    expect(textOf(await session.at(b).tool('echo', { after: 2 }))).toBe('{"after":2}');
  });

  test('when the other replica is killed in a call, the client resumes at the reading one and misses nothing', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const before = upstream.initializes.length;
    const params = { name: 'progress', arguments: { hold: 'resumed' }, _meta: { progressToken: 'p' } };
    const call = new EventReader(await session.at(b).request('tools/call', params));
    expect(await call.message()).toMatchObject({ params: { progress: 1 } });
    expect(call.lastEventId).toBeDefined();
    b.kill('SIGKILL');
    await expect(call.rest()).rejects.toThrow();
    // The call goes on while nobody listens.
    upstream.release('resumed');

    const resumed = new EventReader(await session.at(a).stream({ lastEventId: call.lastEventId, signal }));
    const messages = [await resumed.message(), await resumed.message(), await resumed.message(isResponse)];
    expect(messages.slice(0, 2)).toMatchObject([{ params: { progress: 2 } }, { params: { progress: 3 } }]);
    expect(textOf(messages[2] ?? {})).toBe('done');
    expect(await resumed.rest()).toEqual([]);
    expect(upstream.initializes.length).toBe(before);
  });

  test('the session’s stream is resumed at the other replica without a loss', async () => {
    const { a, b } = deployment;
    const session = await openSession(b);
    const [upstreamSession] = [...upstream.sessions.values()].slice(-1);
    const send = (data: number): void => {
      const params = { level: 'info', data };
      upstreamSession?.getStream.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }));
    };
    const lost = new AbortController();
    const stream = new EventReader(await session.at(a).stream({ signal: lost.signal }));
    send(1);
    expect(await stream.message()).toMatchObject({ params: { data: 1 } });
    lost.abort();
    for (const data of [2, 3, 4]) send(data);
    const resumed = new EventReader(await session.at(b).stream({ lastEventId: stream.lastEventId, signal }));
    for (const data of [2, 3, 4]) expect(await resumed.message()).toMatchObject({ params: { data } });
  });

  test('when the server restarts, running calls fail at both replicas, and the next calls open one session', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const before = upstream.initializes.length;
    const running = [a, b].map((place, n) =>
      session.at(place).request('tools/call', { name: 'slow', arguments: { key: `restart-${n}` } }),
    );
    await Promise.all([arrived('restart-0'), arrived('restart-1')]);
    await upstream.die();
    for (const call of running) {
      const messages = await new EventReader(await call).rest();
      expect(messages).toMatchObject([{ error: { code: 502 } }]);
    }
    const refused = await session.at(b).request('tools/call', { name: 'echo' });
    expect(refused.status).toBe(502);
    await refused.arrayBuffer();

    await upstream.listenAgain();
    const calls = await Promise.all([a, b, a, b].map((place, n) => session.at(place).tool('echo', { n })));
    expect(calls.map(textOf)).toEqual([0, 1, 2, 3].map((n) => `{"n":${n}}`));
    expect(upstream.initializes.length).toBe(before + 1);
    expect(upstream.sessions.size).toBe(1);

    const stream = new EventReader(await session.at(b).stream({ signal }));
    await session.at(a).tool('notify', { method: 'notifications/resources/list_changed' });
    expect(await stream.message()).toMatchObject({ method: 'notifications/resources/list_changed' });
    expect(await drain(session.at(b).end())).toBe(200);
  });
});
