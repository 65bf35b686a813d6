import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { MemoryStore } from '../state/memory/memory-store.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { StreamableHttpUpstream } from '../upstream/streamable-http.ts';
import {
  answerError,
  answerResult,
  type Handler,
  type HttpUpstream,
  startHttpUpstream,
} from '../upstream/testing/http-upstream.ts';
import { sessionRecord } from './testing/session-record.ts';
import { UpstreamSessions } from './upstream-sessions.ts';

const HEADERS = ['content-type', 'application/json', 'authorization', 'Bearer client'];

describe('a lost upstream session', () => {
  let http: HttpUpstream;
  let upstream: StreamableHttpUpstream;
  let store: MemoryStore;
  let sessions: UpstreamSessions;
  let lost: SessionRecord;
  let opened: number;

  const open: Handler = (request, res) => {
    const { method } = request.message;
    if (method === 'initialize') {
      answerResult(request, res, { protocolVersion: '2025-06-18' }, { 'mcp-session-id': `new-${++opened}` });
    } else res.writeHead(202).end();
  };

  beforeEach(async () => {
    opened = 0;
    http = await startHttpUpstream(open);
    upstream = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
    store = new MemoryStore();
    sessions = new UpstreamSessions(store);
    lost = sessionRecord({ principal: 'me', logLevel: '{"level":"debug"}', subscriptions: ['test://a'] });
    await store.open(lost);
  });
  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const stored = async (): Promise<SessionRecord | undefined> => {
    const found = await store.find(lost, { principal: 'me', now: Date.now() });
    return found.state === 'active' ? found.record : undefined;
  };
  const methods = (): (string | undefined)[] => http.requests.map(({ message, method }) => message.method ?? method);

  test('is opened again as the client once opened it, with the headers of the request that needs it', async () => {
    const renewed = await sessions.renew(upstream, lost, HEADERS);
    expect(renewed).toMatchObject({
      upstreamSessionId: 'new-1',
      generation: 1,
      protocolVersion: '2025-06-18',
      sessionId: lost.sessionId,
    });
    expect(await stored()).toEqual(renewed);
    expect(methods()).toEqual(['initialize', 'notifications/initialized', 'logging/setLevel', 'resources/subscribe']);
    expect(http.requests[0]?.body).toContain(lost.initializeParams);
    for (const { headers } of http.requests) expect(headers).toMatchObject({ authorization: 'Bearer client' });
    for (const { headers } of http.requests) expect(headers['mcp-session-id']).not.toBe(lost.upstreamSessionId);
  });

  test('is opened once for all who miss it, on every replica', async () => {
    const replica = new UpstreamSessions(store);
    const renewed = await Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? sessions : replica).renew(upstream, lost, HEADERS)),
    );
    expect(new Set(renewed.map(({ upstreamSessionId }) => upstreamSessionId))).toEqual(new Set(['new-1']));
    expect(opened).toBe(1);
  });

  test('is read, not opened, by who finds out late', async () => {
    await sessions.renew(upstream, lost, HEADERS);
    expect(await sessions.renew(upstream, lost, HEADERS)).toMatchObject({ upstreamSessionId: 'new-1', generation: 1 });
    expect(opened).toBe(1);
  });

  test('is opened again and again when it is lost again', async () => {
    const first = await sessions.renew(upstream, lost, HEADERS);
    expect(await sessions.renew(upstream, first, HEADERS)).toMatchObject({ upstreamSessionId: 'new-2', generation: 2 });
  });

  test.each<[string, Handler, string]>([
    [
      'refuses',
      (request, res) => answerError(request, res, 400, -32_602, 'No.'),
      'initialize was refused: No. (-32602)',
    ],
    ['breaks off', (_request, res) => void res.destroy(), 'other side closed'],
  ])('stays lost when the upstream %s, and the next one tries again', async (_name, handler, why) => {
    http.handler = handler;
    await expect(sessions.renew(upstream, lost, HEADERS)).rejects.toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining(why),
    });
    expect(await stored()).toMatchObject({ generation: 0 });
    http.handler = open;
    expect(await sessions.renew(upstream, lost, HEADERS)).toMatchObject({ generation: 1 });
  });

  test('is nobody’s any more when the session has ended meanwhile, and is closed upstream again', async () => {
    http.handler = (request, res) => {
      void store.remove(lost).then(() => open(request, res));
    };
    await expect(sessions.renew(upstream, lost, HEADERS)).rejects.toMatchObject({ code: 'session_not_found' });
    await vi.waitFor(() => expect(methods()).toContain('DELETE'));
    expect(http.requests.at(-1)?.headers['mcp-session-id']).toBe('new-1');
    await expect(sessions.renew(upstream, lost, HEADERS)).rejects.toMatchObject({ code: 'session_not_found' });
    expect(opened).toBe(1);
  });

  test('is not opened when another replica has done so just before', async () => {
    vi.spyOn(store, 'tryLock').mockImplementationOnce(async () => {
      await store.replaceUpstream(lost, 0, { upstreamSessionId: 'theirs', protocolVersion: '2025-06-18' });
      return true;
    });
    expect(await sessions.renew(upstream, lost, HEADERS)).toMatchObject({ upstreamSessionId: 'theirs' });
    expect(opened).toBe(0);
  });

  test('is what another replica has opened meanwhile, which was faster, and one’s own is closed again', async () => {
    http.handler = (request, res) => {
      const theirs = { upstreamSessionId: 'theirs', protocolVersion: '2025-06-18' };
      void store.replaceUpstream(lost, 0, theirs).then(() => open(request, res));
    };
    expect(await sessions.renew(upstream, lost, HEADERS)).toMatchObject({ upstreamSessionId: 'theirs', generation: 1 });
    await vi.waitFor(() => expect(methods()).toContain('DELETE'));
    expect(http.requests.at(-1)?.headers['mcp-session-id']).toBe('new-1');
  });

  test('locks nobody out, whether it was opened or not', async () => {
    const name = `reinit:${lost.serverId}:${lost.sessionId}`;
    http.handler = (_request, res) => void res.destroy();
    await sessions.renew(upstream, lost, HEADERS).catch(() => undefined);
    expect(await store.lockHolder(name)).toBeUndefined();
    http.handler = open;
    await sessions.renew(upstream, lost, HEADERS);
    expect(await store.lockHolder(name)).toBeUndefined();
  });

  test('is waited for while another replica opens it', async () => {
    await store.tryLock(`reinit:${lost.serverId}:${lost.sessionId}`, 'another replica', 60_000);
    const renewing = sessions.renew(upstream, lost, HEADERS);
    await store.replaceUpstream(lost, 0, { upstreamSessionId: 'theirs', protocolVersion: '2025-06-18' });
    expect(await renewing).toMatchObject({ upstreamSessionId: 'theirs', generation: 1 });
    expect(opened).toBe(0);
  });
});
