import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningAdapter } from '../support/adapter-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader } from './kit/events.ts';
import { type Door, drain, knownSession, openSession, textOf } from './kit/session.ts';

const withToken = (token: string) => ({ 'x-mcp-adapter-auth-token': token });

describe('T1: a session belongs to', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let twin: ScriptedUpstream;
  let deployment: Deployment;
  /** As a replica that was started again after the token was changed. */
  let changed: RunningAdapter;

  beforeAll(async () => {
    [upstream, twin] = [await startScriptedUpstream(), await startScriptedUpstream()];
    const config = {
      core: { auth: { enabled: true, token: 'one' } },
      servers: [mounted('up', upstream.url), mounted('twin', twin.url)],
    };
    deployment = await startDeployment({ config });
    changed = await deployment.startAnother({ core: { auth: { token: 'two' } } });
  });
  afterAll(async () => {
    await changed?.stop();
    await deployment?.close();
    await upstream?.close();
    await twin?.close();
  });

  /** All that a client can do with a session. */
  const everything = (door: Door): Promise<number>[] => [
    drain(door.request('tools/call', { name: 'echo' })),
    drain(door.request('tools/list')),
    drain(door.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })),
    drain(door.send({ jsonrpc: '2.0', id: 1, result: {} })),
    drain(door.stream()),
    drain(door.stream({ lastEventId: 'call-1/1' })),
    drain(door.end()),
  ];
  const unknown = Array.from({ length: 7 }, () => 404);

  test('the token that opened it; to any other it does not exist', async () => {
    const { a, b } = deployment;
    const session = await openSession(a, { headers: withToken('one') });
    const asOther = knownSession(session.sessionId, '2025-11-25', { headers: withToken('two') });
    const count = upstream.requests.length;
    expect(await Promise.all(everything(asOther.at(changed)))).toEqual(unknown);
    expect(upstream.requests.length).toBe(count);

    // The replica with the new token does not take the old one, and the session is unharmed.
    expect(await drain(session.at(changed).request('ping'))).toBe(401);
    expect(textOf(await session.at(b).tool('echo', { mine: true }))).toBe('{"mine":true}');
    const own = await openSession(changed, { headers: withToken('two') });
    expect(textOf(await own.at(changed).tool('echo'))).toBe('{}');
  });

  test('the server that it was opened at; to another one it does not exist', async () => {
    const { a, b } = deployment;
    const headers = withToken('one');
    const session = await openSession(a, { headers });
    const elsewhere = knownSession(session.sessionId, '2025-11-25', { headers, path: '/mcp/twin' });
    for (const place of [a, b]) expect(await Promise.all(everything(elsewhere.at(place)))).toEqual(unknown);
    expect(twin.requests).toEqual([]);
    expect(textOf(await session.at(b).tool('echo', { here: 1 }))).toBe('{"here":1}');
  });

  test('nobody, when its id was never given out', async () => {
    const { a, b } = deployment;
    const headers = withToken('one');
    const [upstreamId = ''] = [...upstream.sessions.keys()];
    expect(upstreamId).not.toBe('');
    const count = upstream.requests.length;
    // The server's own id must not open a door past the adapter, nor must anything that looks like a key or a path.
    for (const id of [upstreamId, '0'.repeat(32), 'x', '../../up', '*', `${'0'.repeat(31)}\u00e9`, 'a'.repeat(4_000)]) {
      const forged = knownSession(id, '2025-11-25', { headers });
      expect([id, ...(await Promise.all(everything(forged.at(a))))]).toEqual([id, ...unknown]);
    }
    expect(await drain(knownSession('', '2025-11-25', { headers }).at(b).request('ping'))).toBe(400);
    expect(upstream.requests.length).toBe(count);
  });

  test('one client: what another session is sent, this one does not see', async () => {
    const { a, b } = deployment;
    const headers = withToken('one');
    const [mine, other] = [await openSession(a, { headers }), await openSession(b, { headers })];
    expect(mine.sessionId).not.toBe(other.sessionId);
    expect(mine.sessionId).toMatch(/^[\x21-\x7e]{20,}$/);
    const client = new AbortController();
    const stream = new EventReader(await mine.at(b).stream({ signal: client.signal }));
    await other.at(a).tool('notify', { params: { level: 'info', data: 'for the other' } });
    await mine.at(a).tool('notify', { params: { level: 'info', data: 'for me' } });
    expect(await stream.message()).toMatchObject({ params: { data: 'for me' } });
    client.abort();
  });
});
