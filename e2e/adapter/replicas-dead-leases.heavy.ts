import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader } from './kit/events.ts';
import { drain, openSession, textOf } from './kit/session.ts';
import { type SseUpstream, startSseUpstream } from './kit/sse-upstream.ts';

/** How long the calls of a dead replica count. */
const LEASE_MS = 30_000;

/** Slow by nature: about 35 s, of which nearly all is waiting for the leases to end. */
describe('the calls of a replica that was killed', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let sse: SseUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    sse = await startSseUpstream();
    const servers = [mounted('up', upstream.url), mounted('sse', sse.url, { upstream: { transport: 'sse' } })];
    const config = { sessions: { max_in_flight_per_session: 2 }, servers };
    deployment = await startDeployment({ config });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
    await sse?.close();
  });

  test('hold their places and messages for 30 seconds, and those of a living one for as long as they run', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const slow = (key: string) => ({ name: 'slow', arguments: { key } });
    const arrived = (key: string) => upstream.waitForRequest(({ text }) => text.includes(`"${key}"`));

    const long = session.at(b).request('tools/call', slow('long'));
    await arrived('long');
    const other = await openSession(b, { path: '/mcp/sse' });
    const stream = new EventReader(await other.at(b).stream());
    const lostToo = other.at(a).request('tools/call', slow('lost too'));
    await sse.waitForRequest(({ text }) => text.includes('"lost too"'));
    const lost = session.at(a).request('tools/call', slow('lost'));
    await arrived('lost');
    const startedAt = performance.now();
    const broken = Promise.all([
      expect(lost).rejects.toThrow('fetch failed'),
      expect(drain(lostToo)).rejects.toThrow('terminated'),
    ]);
    a.kill('SIGKILL');
    await broken;

    const next = () => drain(session.at(b).request('tools/call', { name: 'echo' }));
    expect(await next()).toBe(429);
    await expect.poll(next, { timeout: LEASE_MS + 15_000, interval: 500 }).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(LEASE_MS - 2_000);

    const params = { level: 'info', data: 'to the session' };
    for (const { getStream } of sse.sessions.values())
      getStream.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params }));
    expect(await stream.message()).toMatchObject({ params });

    // The living replica's call has been running for longer than a lease, and still counts.
    const second = session.at(b).tool('slow', { key: 'second' });
    await arrived('second');
    expect(await next()).toBe(429);
    for (const key of ['long', 'second']) upstream.release(key);
    expect([(await long).status, textOf(await second)]).toEqual([200, 'done']);
  });
});
