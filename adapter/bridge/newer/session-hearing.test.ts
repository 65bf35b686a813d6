import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { type CallSession, knownCallSession } from './call-session.ts';
import { SessionHearings } from './session-hearing.ts';

const OWN = { serverId: 'one', sessionId: 'bridge-1', generation: 0 };
const POSITION = { upstreamSessionId: 'up-1', protocolVersion: '2025-11-25' };
const QUESTION = '{"jsonrpc":"2.0","id":7,"method":"roots/list"}';

let upstream: FakeUpstream;
let hearings: SessionHearings;
let session: CallSession;
let heard: string[];

beforeEach(() => {
  upstream = new FakeUpstream();
  hearings = new SessionHearings(upstream, 1);
  session = knownCallSession(
    OWN,
    upstream,
    ['content-type', 'application/json', 'authorization', 'Bearer t'],
    POSITION,
  );
  heard = [];
});

const open = (): ReturnType<SessionHearings['open']> => hearings.open(session, (text) => heard.push(text));

/** Whether it is ready without anything more happening. */
const isReady = async (ready: Promise<void>): Promise<boolean> =>
  Promise.race([ready.then(() => true), setImmediate(false)]);

describe('what a server says in a session beside its calls', () => {
  test('is heard as soon as the stream has begun', async () => {
    const { ready } = open();
    expect(upstream.last.request).toMatchObject({ method: 'GET', session: { upstreamSessionId: 'up-1' } });
    const credentials = ['authorization', 'Bearer t', 'mcp-protocol-version', '2025-11-25'];
    expect(upstream.last.request.headers).toEqual(['accept', 'text/event-stream', ...credentials]);
    expect(await isReady(ready)).toBe(false);
    upstream.last.eventStream().data(`data: ${QUESTION}\n\n`);
    await ready;
    expect(heard).toEqual([QUESTION]);
  });

  test('is heard no more after the call', async () => {
    const hearing = open();
    const { last } = upstream;
    last.eventStream();
    hearing.stop();
    last.data(`data: ${QUESTION}\n\n`);
    await hearing.ready;
    expect([last.aborted, heard]).toEqual([true, []]);
  });

  test('is not asked for again where there is no such stream', async () => {
    const first = open();
    upstream.last.head(405);
    await first.ready;
    await setImmediate();
    await open().ready;
    expect(upstream.exchanges).toHaveLength(1);
  });

  test('is asked for again after any other refusal', async () => {
    const first = open();
    upstream.last.head(503);
    await first.ready;
    await setImmediate();
    open();
    expect(upstream.exchanges).toHaveLength(2);
  });

  test('is not waited for twice where the server begins its stream with the first message', async () => {
    const first = open();
    await first.ready;
    const second = open();
    expect(await isReady(second.ready)).toBe(true);
    upstream.last.eventStream().data(`data: ${QUESTION}\n\n`);
    expect(heard).toEqual([QUESTION]);
  });

  test('is heard again when the stream ends before the call', async () => {
    const hearing = open();
    upstream.last.eventStream().data(`id: 5\ndata: ${QUESTION}\n\n`).end();
    await vi.waitFor(() => expect(upstream.exchanges).toHaveLength(2));
    expect(upstream.last.request.lastEventId).toBe('5');
    hearing.stop();
    expect(upstream.last.aborted).toBe(true);
  });

  test('is heard again when the server is away for a while', async () => {
    const hearing = open();
    upstream.last.eventStream().data(`id: 5\ndata: ${QUESTION}\n\n`).end();
    await vi.waitFor(() => expect(upstream.exchanges).toHaveLength(2));
    upstream.last.fail(false);
    await vi.waitFor(() => expect(upstream.exchanges).toHaveLength(3));
    expect(upstream.last.request.lastEventId).toBe('5');
    expect(hearing.isOver).toBe(false);
    upstream.last.head(404);
    await vi.waitFor(() => expect(hearing.isOver).toBe(true));
  });

  test('is heard as soon as the stream is free, where a server has one for each session', async () => {
    const hearing = open();
    upstream.last.head(409);
    await vi.waitFor(() => expect(upstream.exchanges).toHaveLength(2));
    upstream.last.eventStream().data(`data: ${QUESTION}\n\n`);
    hearing.stop();
    expect(heard).toEqual([QUESTION]);
  });

  test('is heard when another replica had the stream for very long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const hearing = open();
    for (let refused = 1; refused <= 200; refused++) {
      upstream.last.head(409);
      // oxlint-disable-next-line no-await-in-loop -- one stream comes after the other
      await vi.advanceTimersByTimeAsync(10);
      expect(upstream.exchanges).toHaveLength(refused + 1);
    }
    upstream.last.eventStream().data(`data: ${QUESTION}\n\n`);
    hearing.stop();
    expect(heard).toEqual([QUESTION]);
  });

  test('waits when the client does, on every stream', () => {
    const hearing = open();
    hearing.pause();
    expect(upstream.last.paused).toBe(true);
    hearing.resume();
    expect(upstream.last.paused).toBe(false);
    hearing.stop();
  });
});
