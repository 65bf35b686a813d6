import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader } from './kit/events.ts';
import { drain, initialize, openSession, textOf } from './kit/session.ts';

const IDLE = { idle_ttl_seconds: 1 };

async function startOf(
  sessions: Record<string, unknown>,
): Promise<{ upstream: ScriptedUpstream; deployment: Deployment }> {
  const upstream = await startScriptedUpstream();
  const config = {
    core: { cleanup_interval_seconds: 0.2 },
    sessions: { ...IDLE, ...sessions },
    servers: [mounted('up', upstream.url)],
  };
  try {
    return { upstream, deployment: await startDeployment({ config }) };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

const deletesOf = ({ requests }: ScriptedUpstream, upstreamId: string | undefined) =>
  requests.filter(({ method, headers }) => method === 'DELETE' && headers['mcp-session-id'] === upstreamId);

/** Resolves when the idle session has been expired: its upstream session is ended then. */
async function expired(upstream: ScriptedUpstream, upstreamId: string | undefined): Promise<void> {
  expect(upstreamId).toBeDefined();
  await upstream.waitForRequest(
    ({ method, headers }) => method === 'DELETE' && headers['mcp-session-id'] === upstreamId,
    15_000,
  );
}

describe('a session that was idle for too long', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    ({ upstream, deployment } = await startOf({ max_active: 1 }));
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('is ended upstream once, and comes back under its id at the other replica', async () => {
    const { a, b } = deployment;
    const session = await openSession(a, { protocolVersion: '2025-06-18' });
    await session.at(a).call('logging/setLevel', { level: 'debug' });
    const first = [...upstream.sessions.keys()].at(-1);
    await expired(upstream, first);
    expect(upstream.sessions.size).toBe(0);

    expect(textOf(await session.at(b).tool('echo', { back: true }))).toBe('{"back":true}');
    expect(textOf(await session.at(a).tool('echo', { back: 'too' }))).toBe('{"back":"too"}');
    expect(upstream.initializes).toHaveLength(2);
    expect(upstream.initializes[1]).toEqual(upstream.initializes[0]);
    expect(upstream.requestsOf('logging/setLevel')).toHaveLength(2);
    expect(deletesOf(upstream, first)).toHaveLength(1);

    // It can expire and come back again, and a stream brings it back as well.
    await expired(upstream, [...upstream.sessions.keys()].at(-1));
    const client = new AbortController();
    const stream = new EventReader(await session.at(b).stream({ signal: client.signal }));
    expect(textOf(await session.at(a).tool('notify'))).toBe('sent');
    expect(await stream.message()).toMatchObject({ method: 'notifications/message' });
    client.abort();
    expect(await drain(session.at(a).end())).toBe(200);
  });

  test('leaves its place to another, and is refused with 429 while that one is active', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    expect(await drain(initialize(b))).toBe(429);
    await expired(upstream, [...upstream.sessions.keys()].at(-1));
    const other = await openSession(b);
    const running = other.at(b).tool('slow', { key: 'place' });
    await upstream.waitForRequest(({ text }) => text.includes('"place"'));
    expect(await drain(session.at(a).request('ping'))).toBe(429);
    upstream.release('place');
    expect(textOf(await running)).toBe('done');
    expect(await drain(other.at(a).end())).toBe(200);
    expect(textOf(await session.at(b).tool('echo'))).toBe('{}');
    expect(await drain(session.at(b).end())).toBe(200);
  });

  test('is not expired while a call runs, nor sooner after it than after any other', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const upstreamId = [...upstream.sessions.keys()].at(-1);
    expect(textOf(await session.at(b).tool('slow', { ms: 2_500 }))).toBe('done');
    const endedAt = performance.now();
    expect(deletesOf(upstream, upstreamId)).toEqual([]);
    await expired(upstream, upstreamId);
    // A second by the replicas' clock, which began before the answer had come here.
    expect(performance.now() - endedAt).toBeGreaterThan(800);
    expect(await drain(session.at(a).end())).toBe(200);
  });

  test('and ended by its client does not come back', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    await expired(upstream, [...upstream.sessions.keys()].at(-1));
    expect(await drain(session.at(b).end())).toBe(200);
    expect(await drain(session.at(a).request('ping'))).toBe(404);
  });
});

describe('without revival', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    ({ upstream, deployment } = await startOf({ allow_revival: false }));
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('a session that was idle for too long is gone at both replicas', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    await expired(upstream, [...upstream.sessions.keys()].at(-1));
    for (const place of [b, a])
      expect(await drain(session.at(place).request('tools/call', { name: 'echo' }))).toBe(404);
    expect(upstream.requestsOf('tools/call')).toEqual([]);
    expect(textOf(await (await openSession(b)).at(a).tool('echo'))).toBe('{}');
  });
});

describe('a tombstone', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    ({ upstream, deployment } = await startOf({ tombstone_ttl_seconds: 0.5 }));
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('is kept for its own time only', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    await expired(upstream, [...upstream.sessions.keys()].at(-1));
    // Asking for health touches no session; a request of the session would bring it back.
    const tombstones = async (): Promise<unknown> => {
      const health = await fetch(`${b.url}/healthz`);
      return health.json();
    };
    await expect
      .poll(tombstones, { timeout: 5_000 })
      .toMatchObject({ persistence: { state_inventory: { sessions_count: 0, tombstones_count: 0 } } });
    for (const place of [b, a]) expect(await drain(session.at(place).request('ping'))).toBe(404);
  });
});
