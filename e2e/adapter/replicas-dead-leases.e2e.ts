import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { drain, openSession, textOf } from './kit/session.ts';

/** How long the calls of a dead replica count. */
const LEASE_MS = 30_000;

/** Slow by nature: about 35 s, of which nearly all is waiting for the leases to end. */
describe('the calls of a replica that was killed', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const config = { sessions: { max_in_flight_per_session: 2 }, servers: [mounted('up', upstream.url)] };
    deployment = await startDeployment({ config });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('hold their places for 30 seconds, and those of a living one for as long as they run', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const slow = (key: string) => ({ name: 'slow', arguments: { key } });
    const arrived = (key: string) => upstream.waitForRequest(({ text }) => text.includes(`"${key}"`));

    const long = session.at(b).request('tools/call', slow('long'));
    await arrived('long');
    const lost = session.at(a).request('tools/call', slow('lost'));
    await arrived('lost');
    const startedAt = performance.now();
    const broken = expect(lost).rejects.toThrow('fetch failed');
    a.kill('SIGKILL');
    await broken;

    const next = () => drain(session.at(b).request('tools/call', { name: 'echo' }));
    expect(await next()).toBe(429);
    await expect.poll(next, { timeout: LEASE_MS + 15_000, interval: 500 }).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(LEASE_MS - 2_000);

    // The living replica's call has been running for longer than a lease, and still counts.
    const second = session.at(b).tool('slow', { key: 'second' });
    await arrived('second');
    expect(await next()).toBe(429);
    for (const key of ['long', 'second']) upstream.release(key);
    expect([(await long).status, textOf(await second)]).toEqual([200, 'done']);
  });
});
