import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { type CallSession, knownCallSession } from './call-session.ts';
import { KeptHearings } from './kept-hearings.ts';
import { MemoryBus } from '../../state/memory/memory-bus.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { PassedQuestions } from './passed-questions.ts';
import { SessionHearings } from './session-hearing.ts';

const OWN = { serverId: 'one', sessionId: 'kept-1', generation: 0 };
const POSITION = { upstreamSessionId: 'up-1', protocolVersion: '2025-11-25' };
const QUESTION = '{"jsonrpc":"2.0","id":7,"method":"roots/list"}';
const LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}';
const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}';

let upstream: FakeUpstream;
let bus: MemoryBus;
let session: CallSession;
let heard: string[];

beforeEach(() => {
  upstream = new FakeUpstream();
  bus = new MemoryBus({ onListenerError: (error) => expect.unreachable(String(error)), account: sampleAccount() });
  session = knownCallSession(OWN, upstream, ['authorization', 'Bearer t'], POSITION);
  heard = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => vi.useRealTimers());

const hearings = (isShared = false): KeptHearings =>
  new KeptHearings(upstream, new SessionHearings(upstream), isShared ? undefined : new PassedQuestions(bus));
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
    stream?.eventStream().data(`data: ${QUESTION}\n\n`);
    second.stop();
    stream?.data(`data: ${QUESTION}\n\n`);
    expect(heard).toEqual([`second ${QUESTION}`, `first ${QUESTION}`]);
  });

  test('is heard a while longer than its calls, and what it asks then is refused', async () => {
    const kept = hearings();
    open(kept, 'first').stop();
    const [stream] = upstream.exchanges;
    stream?.eventStream().data(`data: ${QUESTION}\n\ndata: {"jsonrpc":"2.0","id":8,"method":"ping"}\n\n`);
    await setImmediate();
    expect(posted()).toEqual([
      '{"jsonrpc":"2.0","id":8,"result":{}}',
      '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Nobody answers questions on this stream."}}',
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
    const first = open(kept, 'first');
    kept.close();
    expect(upstream.last.aborted).toBe(true);
    open(kept, 'last');
    first.stop();
    vi.advanceTimersByTime(5_000);
    expect(upstream.last.aborted).toBe(false);
  });

  test('is heard again by its next call where its stream was refused', async () => {
    const kept = hearings();
    const first = open(kept, 'first');
    upstream.last.head(503);
    await first.ready;
    await vi.waitFor(() => {
      open(kept, 'second');
      expect(upstream.exchanges).toHaveLength(2);
    });
    open(kept, 'third');
    upstream.last.eventStream().data(`data: ${QUESTION}\n\n`);
    expect([upstream.exchanges.length, heard]).toEqual([2, [`third ${QUESTION}`]]);
  });

  test('tells all calls of progress, which knows its own, and the newest what it logs', () => {
    const kept = hearings();
    open(kept, 'first');
    open(kept, 'second');
    upstream.last.eventStream().data(`data: ${PROGRESS}\n\ndata: ${LOG}\n\n`);
    expect(heard).toEqual([`first ${PROGRESS}`, `second ${PROGRESS}`, `second ${LOG}`]);
  });

  test('T17: gets no more answers at once than a server takes', async () => {
    const kept = hearings();
    open(kept, 'first').stop();
    const [stream] = upstream.exchanges;
    stream?.eventStream();
    for (let id = 0; id < 1_000; id++) stream?.data(`data: {"jsonrpc":"2.0","id":${id},"method":"ping"}\n\n`);
    expect(posted()).toHaveLength(32);
    upstream.last.head(202);
    await setImmediate();
    stream?.data(`data: {"jsonrpc":"2.0","id":1000,"method":"ping"}\n\n`);
    expect(posted().slice(32)).toEqual(['{"jsonrpc":"2.0","id":1000,"result":{}}']);
  });
});

describe('a session that is heard at another replica', () => {
  test('asks the call there is, wherever that runs', async () => {
    const [a, b] = [hearings(), hearings()];
    open(a, 'at a').stop();
    const [stream] = upstream.exchanges;
    stream?.eventStream();
    const there = open(b, 'at b');
    upstream.last.head(409);
    await there.ready;
    stream?.data(`data: ${QUESTION}\n\n`);
    await vi.waitFor(() => expect(heard).toEqual([`at b ${QUESTION}`]));
    there.stop();
    await setImmediate();
    stream?.data(`data: ${QUESTION}\n\n`);
    await vi.waitFor(() => expect(posted()).toHaveLength(1));
    expect(heard).toHaveLength(1);
  });

  test('is told that nobody takes its questions where the replicas cannot tell each other', async () => {
    vi.spyOn(bus, 'calls').mockRejectedValue(new Error('away'));
    open(hearings(), 'first').stop();
    upstream.last.eventStream().data(`data: ${QUESTION}\n\n`);
    await vi.waitFor(() => expect(posted()).toHaveLength(1));
  });
});

describe('a session of many', () => {
  test('is refused what it asks beside its calls, and nobody hears what it logs', () => {
    open(hearings(true), 'one of many');
    upstream.last.eventStream().data(`data: ${QUESTION}\n\ndata: ${LOG}\n\n`);
    expect([heard.length, posted().length]).toEqual([0, 1]);
  });

  test('is read though one of its clients does not', () => {
    const kept = hearings(true);
    open(kept, 'slow').pause();
    open(kept, 'other');
    expect(upstream.last.paused).toBe(false);
    upstream.last.eventStream().data(`data: ${PROGRESS}\n\n`);
    expect(heard).toEqual([`other ${PROGRESS}`]);
  });
});
