import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { drain, openSession, textOf } from './kit/session.ts';
import { type SseUpstream, startSseUpstream } from './kit/sse-upstream.ts';

/** Longer than the lease of the replica that reads the session's stream. */
const OUTAGE_MS = 6_000;
const RECOVERED_MS = 15_000;

describe(
  'a session of HTTP+SSE, when Redis is down for longer than the lease of its reader',
  { timeout: 60_000 },
  () => {
    let upstream: SseUpstream;
    let deployment: Deployment;

    beforeAll(async () => {
      upstream = await startSseUpstream();
      const servers = [mounted('up', upstream.url, { upstream: { transport: 'sse' } })];
      const config = { state_persistence: { redis: { ping_seconds: 0.5 } }, servers };
      deployment = await startDeployment({ config, redis: { appendonly: true } });
    });
    afterAll(async () => {
      await deployment?.close();
      await upstream?.close();
    });

    test('goes on at both replicas afterwards, and holds one stream of the server', async () => {
      const { a, b, redis } = deployment;
      const session = await openSession(a);
      expect(textOf(await session.at(b).tool('echo'))).toBe('{}');

      await redis.stop();
      const refused = await session.at(b).request('tools/call', { name: 'echo' });
      expect(refused.status).toBe(503);
      expect(await refused.json()).toMatchObject({ error: { data: { code: 'state_unavailable' } } });
      // Only time makes a lease lapse.
      await delay(OUTAGE_MS);
      await redis.start();

      // The replica that does not read asks first.
      for (const [n, place] of [b, a, b, a].entries()) {
        await expect.poll(() => drain(session.at(place).request('ping')), { timeout: RECOVERED_MS }).toBe(200);
        expect(textOf(await session.at(place).tool('echo', { n }))).toBe(`{"n":${n}}`);
      }
      await expect.poll(() => upstream.sessions.size, { timeout: 5_000 }).toBe(1);
      expect(textOf(await session.at(a).tool('echo', { last: 1 }))).toBe('{"last":1}');
      expect(await drain(session.at(b).end())).toBe(200);
      await eventually(() => upstream.sessions.size).toBe(0);
    });
  },
);
