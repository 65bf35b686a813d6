import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader, isMethod, isResponse } from './kit/events.ts';
import { drain, openSession, textOf } from './kit/session.ts';

const note = (data: string) => ({ method: 'notifications/message', params: { level: 'info', data } });

describe('the event stream of a session, at one of two replicas', () => {
  let upstream: ScriptedUpstream;
  let resumable: ScriptedUpstream;
  let deployment: Deployment;
  const client = new AbortController();
  const { signal } = client;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    resumable = await startScriptedUpstream({ eventIds: true, retryMs: 100, answers: 'sse' });
    const servers = [mounted('up', upstream.url), mounted('resumable', resumable.url)];
    deployment = await startDeployment({ config: { servers } });
  });
  afterAll(async () => {
    client.abort();
    await deployment?.close();
    await upstream?.close();
    await resumable?.close();
  });

  test('carries what a call through the other replica causes', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const response = await session.at(a).stream({ signal });
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, session.sessionId]);
    const stream = new EventReader(response);
    for (const place of [b, a, b]) {
      expect(textOf(await session.at(place).tool('notify', note(place.url)))).toBe('sent');
      expect(await stream.message()).toEqual({ jsonrpc: '2.0', ...note(place.url) });
    }
  });

  test('is refused without a session, and with one that does not exist', async () => {
    const { a } = deployment;
    const session = await openSession(a);
    expect(await drain(session.at(a).stream({ headers: { 'mcp-session-id': '' } }))).toBe(400);
    expect(await drain(session.at(a).stream({ headers: { 'mcp-session-id': 'f'.repeat(32) } }))).toBe(404);
  });

  test('moves to whoever opens it last, wherever it was before, though the server allows one at a time', async () => {
    const { a, b } = deployment;
    const session = await openSession(b);
    let stream = new EventReader(await session.at(a).stream({ signal }));
    for (const place of [b, b, a]) {
      const next = await session.at(place).stream({ signal });
      expect(next.status).toBe(200);
      // The one before ended in order, so that its client knows.
      expect(await stream.rest()).toEqual([]);
      stream = new EventReader(next);
      await session.at(a).tool('notify', note(place.url));
      expect(await stream.message()).toMatchObject(note(place.url));
    }
    // Otherwise nothing of this was tested: the server did refuse the second stream.
    const gets = upstream.requests.filter(({ method }) => method === 'GET');
    expect(gets.length).toBeGreaterThan(4);
  });

  test('can be opened again by a client that lost its connection', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const first = new AbortController();
    const lost = await session.at(a).stream({ signal: first.signal });
    expect(lost.status).toBe(200);
    first.abort();
    const stream = new EventReader(await session.at(b).stream({ signal }));
    await session.at(b).tool('notify', note('again'));
    expect(await stream.message()).toMatchObject(note('again'));
  });

  test('is refused as the server refuses it, when the server has none', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    upstream.behavior.refuseGet = true;
    expect(await drain(session.at(a).stream())).toBe(405);
    expect(await drain(session.at(b).stream())).toBe(405);
    upstream.behavior.refuseGet = false;
  });

  test.for([true, false])(
    'is refused with 405 when the server has no such route, and the session lives on (sessions: %s)',
    async (sessions) => {
      await using postOnly = await startScriptedUpstream({ sessions });
      const notFound = { status: 404, headers: { 'content-type': 'text/html' }, body: 'Cannot GET /mcp' };
      postOnly.behavior.intercept = ({ method }) => (method === 'POST' ? undefined : notFound);
      await using other = await startDeployment({ config: { servers: [mounted('up', postOnly.url)] } });
      const session = await openSession(other.a);
      const [opened] = postOnly.sessions.keys();
      for (const place of [other.a, other.b]) {
        const refused = await session.at(place).stream();
        expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
        expect(await refused.json()).toMatchObject({ error: { data: { code: 'method_not_allowed' } } });
        expect(textOf(await session.at(place).tool('echo', { a: 1 }))).toBe('{"a":1}');
      }
      expect(postOnly.initializes).toHaveLength(1);
      const called = postOnly.requestsOf('tools/call').map(({ headers }) => headers['mcp-session-id']);
      expect(called).toEqual([opened, opened]);
    },
  );

  test('when the replica that holds a running call is killed, the client resumes at the other one and gets the result', async () => {
    const { a, b } = deployment;
    const path = '/mcp/resumable';
    const session = await openSession(a, { path });
    const stream = new EventReader(await session.at(a).stream());
    await stream.event();
    const running = await session.at(a).request('tools/call', { name: 'slow', arguments: { key: 'killed' } });
    const call = new EventReader(running);
    const priming = await call.event();
    expect(priming).toMatchObject({ retry: '1000', data: '' });
    expect([stream.lastEventId, call.lastEventId]).not.toContain(undefined);

    a.kill('SIGKILL');
    await a.exited;
    await expect(call.rest()).rejects.toThrow();
    await expect(stream.rest()).rejects.toThrow();

    // What comes while nobody listens is not lost either.
    await session.at(b).tool('notify', note('missed'));
    const resumed = new EventReader(await session.at(b).stream({ lastEventId: call.lastEventId, signal }));
    const streamAgain = new EventReader(await session.at(b).stream({ lastEventId: stream.lastEventId, signal }));
    resumable.release('killed');
    const response = await resumed.message(isResponse);
    expect([textOf(response), response.id]).toEqual(['done', 1]);
    expect(await streamAgain.message(isMethod('notifications/message'))).toMatchObject(note('missed'));

    expect(textOf(await session.at(b).tool('echo', { after: 1 }))).toBe('{"after":1}');
    await deployment.restart('a');
    expect(textOf(await session.at(deployment.a).tool('echo', { after: 2 }))).toBe('{"after":2}');
    expect(resumable.initializes).toHaveLength(1);
  });

  test('when the server’s connection breaks in a call, the client resumes at the other replica', async () => {
    const { a, b } = deployment;
    const session = await openSession(a, { path: '/mcp/resumable' });
    const running = await session.at(a).request('tools/call', { name: 'slow', arguments: { key: 'broken' } });
    const call = new EventReader(running);
    await call.event();
    resumable.breakStreams();
    // The end without an answer and without an error is what makes a client resume.
    expect(await call.rest()).toEqual([]);
    const resumed = new EventReader(await session.at(b).stream({ lastEventId: call.lastEventId, signal }));
    resumable.release('broken');
    expect(textOf(await resumed.message(isResponse))).toBe('done');
  });

  test('when the server’s connection breaks in a call that cannot be resumed, the call fails at once', async () => {
    const { b } = deployment;
    const session = await openSession(b);
    upstream.behavior.answers = 'sse';
    const running = await session.at(b).request('tools/call', { name: 'slow', arguments: { key: 'lost' } });
    upstream.behavior.answers = 'json';
    upstream.breakStreams();
    expect(await new EventReader(running).rest()).toMatchObject([
      { id: 1, error: { data: { code: 'upstream_failed' } } },
    ]);
  });
});
