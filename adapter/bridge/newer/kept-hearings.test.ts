import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { type CallSession, knownCallSession } from './call-session.ts';
import { KeptHearings } from './kept-hearings.ts';
import { SessionHearings } from './session-hearing.ts';

const OWN = { serverId: 'one', sessionId: 'kept-1', generation: 0 };
const POSITION = { upstreamSessionId: 'up-1', protocolVersion: '2025-11-25' };
const QUESTION = '{"jsonrpc":"2.0","id":7,"method":"roots/list"}';
const LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}';

let upstream: FakeUpstream;
let session: CallSession;
let heard: string[];

beforeEach(() => {
  upstream = new FakeUpstream();
  session = knownCallSession(OWN, upstream, ['authorization', 'Bearer t'], POSITION);
  heard = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => vi.useRealTimers());

const hearings = (isShared = false): KeptHearings =>
  new KeptHearings(upstream, new SessionHearings(upstream), isShared);
const open = (kept: KeptHearings, name: string): ReturnType<KeptHearings['open']> =>
  kept.open(session, (text) => heard.push(`${name} ${text}`));
const posted = (): (string | undefined)[] =>
  upstream.exchanges.flatMap(({ request }) => (request.method === 'POST' ? [request.body?.text] : []));

describe('a session that calls of one caller share', () => {
  test('is heard on one stream, and its newest call takes the questions', () => {
    const kept = hearings();
    open(kept, 'first');
    const second = open(kept, 'second');
    const [stream, ...more] = upstream.exchanges;
    expect(more).toEqual([]);
    stream?.eventStream().data(`data: ${QUESTION}\n\ndata: ${LOG}\n\n`);
    second.stop();
    stream?.data(`data: ${QUESTION}\n\n`);
    expect(heard).toEqual([`second ${QUESTION}`, `first ${QUESTION}`]);
  });

  test('is heard a while longer than its calls, and what it asks then is refused', () => {
    const kept = hearings();
    open(kept, 'first').stop();
    const [stream] = upstream.exchanges;
    stream?.eventStream().data(`data: ${QUESTION}\n\ndata: {"jsonrpc":"2.0","id":8,"method":"ping"}\n\n`);
    expect(posted()).toEqual([
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Nobody answers questions on this stream."}}',
      '{"jsonrpc":"2.0","id":8,"result":{}}',
    ]);
    vi.advanceTimersByTime(4_000);
    const second = open(kept, 'second');
    vi.advanceTimersByTime(60_000);
    expect(stream?.aborted).toBe(false);
    second.stop();
    vi.advanceTimersByTime(5_000);
    expect(stream?.aborted).toBe(true);
  });

  test('is not read while one of its calls is not', () => {
    const kept = hearings();
    const [first, second] = [open(kept, 'first'), open(kept, 'second')];
    const [stream] = upstream.exchanges;
    first.pause();
    second.pause();
    second.resume();
    expect(stream?.paused).toBe(true);
    first.stop();
    expect(stream?.paused).toBe(false);
  });

  test('is not heard after the end', () => {
    const kept = hearings();
    open(kept, 'first');
    kept.close();
    expect(upstream.last.aborted).toBe(true);
  });
});

test('what a session of many asks beside its calls is refused', () => {
  open(hearings(true), 'one of many');
  upstream.last.eventStream().data(`data: ${QUESTION}\n\n`);
  expect([heard.length, posted().length]).toEqual([0, 1]);
});
