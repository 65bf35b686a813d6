import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningAdapter } from '../support/adapter-process.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader } from './kit/events.ts';
import { type Load, type Outcome, startLoad } from './kit/load.ts';
import { drain, initialize, openSession, textOf } from './kit/session.ts';

const LOOPS = 8;
const PING_SECONDS = 0.5;
/** A hanging server is noticed when a command has taken 2 s, and the ping that confirms it another 2 s. */
const NOTICED_MS = 12_000;
const RECOVERED_MS = 15_000;

const succeeded = ({ status, code }: Outcome): boolean => status === 200 && code === 'result';
const refused = ({ status }: Outcome): boolean => status === 503;

/** So short that outages show; longer than the start of Redis on a busy machine where they must not. */
const [SHORT_WAIT_SECONDS, LONG_WAIT_SECONDS] = [0.2, 20];

async function startOf(
  policy: string,
  waitSeconds = SHORT_WAIT_SECONDS,
): Promise<{ upstream: ScriptedUpstream; deployment: Deployment }> {
  const upstream = await startScriptedUpstream();
  const config = {
    // A limit makes every call take and give back a lease in Redis.
    sessions: { max_in_flight_per_session: 50, max_active: 1_000 },
    state_persistence: { unavailable_policy: policy, redis: { ping_seconds: PING_SECONDS, wait_seconds: waitSeconds } },
    servers: [mounted('up', upstream.url)],
  };
  try {
    return { upstream, deployment: await startDeployment({ config, redis: { appendonly: true } }) };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

/** Status and body of a route that is open to all. */
async function ask(replica: RunningAdapter, path: string): Promise<{ status: number; body: JsonObject }> {
  const response = await fetch(replica.url + path);
  return { status: response.status, body: asObject(await response.json()) };
}

const outages = [
  {
    kind: 'is stopped',
    begin: ({ redis }: Deployment) => redis.stop(),
    end: ({ redis }: Deployment) => redis.start(),
  },
  {
    kind: 'hangs',
    begin: ({ redis }: Deployment) => redis.pause(),
    end: ({ redis }: Deployment) => redis.resume(),
  },
];

describe('two replicas that lose Redis under load', { timeout: 60_000 }, () => {
  describe('with fail_closed', () => {
    let upstream: ScriptedUpstream;
    let deployment: Deployment;
    let load: Load;

    beforeAll(async () => {
      ({ upstream, deployment } = await startOf('fail_closed'));
      load = await startLoad(LOOPS, [deployment.a, deployment.b]);
    });
    afterAll(async () => {
      await load?.stop();
      await deployment?.close();
      await upstream?.close();
    });

    test.for(outages)(
      'when it $kind, refuse with 503 and go on with the same sessions when it is back',
      async (outage) => {
        const { a, b } = deployment;
        await load.everyLoop(5, succeeded, 10_000);
        const session = await openSession(a);
        const client = new AbortController();
        const stream = new EventReader(await session.at(b).stream({ signal: client.signal }));
        const key = outage.kind;
        const running = session.at(a).tool('slow', { key });
        await upstream.waitForRequest(({ text }) => text.includes(`"${key}"`));
        const from = load.outcomes.length;

        await outage.begin(deployment);
        await load.everyLoop(3, refused, NOTICED_MS);
        for (const replica of [a, b]) {
          await expect.poll(async () => (await ask(replica, '/readyz')).status, { timeout: NOTICED_MS }).toBe(503);
          expect((await ask(replica, '/livez')).status).toBe(200);
          const health = await ask(replica, '/healthz');
          expect(health.status).toBe(503);
          expect(health.body).toMatchObject({
            status: 'degraded',
            degraded_reason: expect.stringMatching(/^persistence_unavailable_via_/) as string,
            persistence: { status: 'degraded', effective_type: 'redis', fallback_active: false },
          });
          const opening = await initialize(replica);
          expect([opening.status, Number(opening.headers.get('retry-after')) > 0]).toEqual([503, true]);
          expect(await opening.json()).toMatchObject({ id: 'init', error: { data: { code: 'state_unavailable' } } });
          expect(await drain(session.at(replica).stream())).toBe(503);
          expect(await drain(session.at(replica).end())).toBe(503);
        }
        // What was already on its way needs no state, and is not lost.
        upstream.release(key);
        expect(textOf(await running)).toBe('done');
        for (const { getStream } of upstream.sessions.values()) {
          if (getStream.attached)
            getStream.send('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}');
        }
        expect(await stream.message()).toMatchObject({ params: { data: 1 } });

        await outage.end(deployment);
        await load.everyLoop(5, succeeded, RECOVERED_MS);
        for (const replica of [a, b]) {
          await expect.poll(async () => (await ask(replica, '/readyz')).status, { timeout: RECOVERED_MS }).toBe(200);
          expect(await ask(replica, '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
          expect(textOf(await session.at(replica).tool('echo', { same: 1 }))).toBe('{"same":1}');
          expect(replica.hasExited()).toBe(false);
        }
        expect(await drain(session.at(b).end())).toBe(200);
        expect(await stream.rest()).toEqual([]);
        client.abort();

        // Nobody saw anything but a result or this refusal: no lost session, no other error.
        const seen = load.outcomes.slice(from).filter((outcome) => !succeeded(outcome));
        expect(seen.filter(({ code }) => code !== 'state_unavailable')).toEqual([]);
        expect(seen.filter((outcome) => !refused(outcome) || !(Number(outcome.retryAfter) > 0))).toEqual([]);
      },
    );
  });

  describe('when calls wait for it', () => {
    let upstream: ScriptedUpstream;
    let deployment: Deployment;
    let load: Load;

    beforeAll(async () => {
      ({ upstream, deployment } = await startOf('fail_closed', LONG_WAIT_SECONDS));
      load = await startLoad(LOOPS, [deployment.a, deployment.b]);
    });
    afterAll(async () => {
      await load?.stop();
      await deployment?.close();
      await upstream?.close();
    });

    test.for(['stop', 'crash'] as const)('O18: lose no call when it is restarted (%s)', async (end) => {
      const { a, b, redis } = deployment;
      await load.everyLoop(10, succeeded, RECOVERED_MS);
      const from = load.outcomes.length;
      for (let round = 0; round < 3; round += 1) {
        await redis[end]();
        const opening = openSession(a);
        await redis.start();
        expect(textOf(await (await opening).at(b).tool('echo', { round }))).toBe(`{"round":${round}}`);
        await load.everyLoop(10, succeeded, RECOVERED_MS);
      }
      expect(load.outcomes.slice(from).filter((outcome) => !succeeded(outcome))).toEqual([]);
    });
  });

  describe('with exit', () => {
    let upstream: ScriptedUpstream;
    let deployment: Deployment;

    beforeAll(async () => {
      ({ upstream, deployment } = await startOf('exit'));
    });
    afterAll(async () => {
      await deployment?.close();
      await upstream?.close();
    });

    test('end with code 1 and say why', async () => {
      const { a, b, redis } = deployment;
      const session = await openSession(a);
      expect(textOf(await session.at(b).tool('echo'))).toBe('{}');
      await redis.stop();
      for (const replica of [a, b]) {
        expect(await replica.exitsWithin(NOTICED_MS)).toEqual({ code: 1, signal: null });
        expect(replica.stdout()).toContain('persistence_unavailable_exit_via_');
      }
      // Restarted by whoever watches over them, they go on.
      await redis.start();
      await deployment.restart('a');
      expect(textOf(await session.at(deployment.a).tool('echo', { again: 1 }))).toBe('{"again":1}');
    });
  });

  describe('with fallback_memory', () => {
    let upstream: ScriptedUpstream;
    let deployment: Deployment;
    let load: Load;

    beforeAll(async () => {
      ({ upstream, deployment } = await startOf('fallback_memory'));
      load = await startLoad(LOOPS, [deployment.a, deployment.b]);
    });
    afterAll(async () => {
      await load?.stop();
      await deployment?.close();
      await upstream?.close();
    });

    test.for(outages)('when it $kind, go on from memory, and from Redis again when it is back', async (outage) => {
      const { a, b } = deployment;
      await load.everyLoop(10, succeeded, 10_000);
      const from = load.outcomes.length;

      await outage.begin(deployment);
      const fallback = async (replica: RunningAdapter) => (await ask(replica, '/healthz')).body;
      for (const replica of [a, b]) {
        await expect
          .poll(() => fallback(replica), { timeout: NOTICED_MS })
          .toMatchObject({
            status: 'degraded',
            degraded_reason: expect.stringMatching(/^fallback_memory_activated_/) as string,
            persistence: { configured_type: 'redis', effective_type: 'memory', fallback_active: true },
          });
        expect((await ask(replica, '/readyz')).status).toBe(200);
      }
      await load.everyLoop(10, succeeded, NOTICED_MS);
      const temporary = await openSession(a);
      expect(textOf(await temporary.at(a).tool('echo'))).toBe('{}');

      await outage.end(deployment);
      for (const replica of [a, b]) {
        await expect
          .poll(() => fallback(replica), { timeout: RECOVERED_MS })
          .toMatchObject({
            status: 'ok',
            persistence: { effective_type: 'redis', fallback_active: false },
          });
      }
      await load.everyLoop(10, succeeded, RECOVERED_MS);
      // What was opened meanwhile was this replica's alone, and is dropped.
      expect(await drain(temporary.at(a).request('ping'))).toBe(404);
      const lasting = await openSession(b);
      expect(textOf(await lasting.at(a).tool('echo'))).toBe('{}');
      expect(load.outcomes.slice(from).filter((outcome) => !succeeded(outcome))).toEqual([]);
    });
  });
});
