import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { FrameSplitter } from '../exchange/scanning/sse-frames.ts';
import { MemoryBus } from '../state/memory/memory-bus.ts';
import { type RunningCall } from '../state/message-bus.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { LegacySseUpstream } from './legacy-sse.ts';
import { ownBody } from './own-request.ts';
import { type HttpUpstream, startHttpUpstream } from './testing/http-upstream.ts';
import type { ResponseControl, ResponseHead, ResponseSink, UpstreamSession } from '../exchange/upstream.ts';
import { sampleAccount } from '../testing/sample-account.ts';
import type { ByteAccount } from '../byte-account.ts';
import { LOG_BYTES } from '../limits.ts';

const KEY = { serverId: 'up', sessionId: 's', generation: 0 };
const note = (data: unknown, method = 'notifications/message'): object => ({
  jsonrpc: '2.0',
  method,
  params: { data },
});

/** What one client's stream gets. */
class Reader implements ResponseSink {
  readonly started = Promise.withResolvers<ResponseControl>();
  readonly head = Promise.withResolvers<ResponseHead>();
  readonly ended = Promise.withResolvers<void>();
  readonly messages: unknown[] = [];
  lastEventId: string | undefined;
  readonly #frames = new FrameSplitter();

  constructor() {
    // At the end of a test, streams fail that nobody waits for.
    this.ended.promise.catch(() => undefined);
  }

  onStart(control: ResponseControl): void {
    this.started.resolve(control);
  }
  onHead(head: ResponseHead): void {
    this.head.resolve(head);
  }
  onData(chunk: Buffer): void {
    for (const { data, id } of this.#frames.push(chunk)) {
      this.messages.push(JSON.parse(data ?? ''));
      this.lastEventId = id;
    }
  }
  onEnd(): void {
    this.ended.resolve();
  }
  onError(error: Error): void {
    this.ended.reject(error);
  }
}

describe('a session of an sse upstream', () => {
  let http: HttpUpstream;
  let bus: MemoryBus;
  let account: ByteAccount;
  let upstream: LegacySseUpstream;
  let session: UpstreamSession;
  /** The stream of the upstream. */
  let stream: ServerResponse;
  /** A POST that the upstream has not answered yet. */
  let unanswered: ServerResponse | undefined;

  beforeEach(async () => {
    unanswered = undefined;
    http = await startHttpUpstream(({ method, message }, res) => {
      if (method === 'GET') {
        stream = res;
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /messages\n\n');
        return;
      }
      if (message.method === 'unanswered') {
        unanswered = res;
        return;
      }
      res.writeHead(202).end();
      if (message.method !== 'slow') emit({ jsonrpc: '2.0', id: message.id, result: { of: message.method } });
    });
    account = sampleAccount();
    bus = new MemoryBus({ onListenerError: (error) => expect.unreachable(String(error)), account });
    upstream = new LegacySseUpstream({ url: `${http.origin}/sse`, insecureTls: false, store: new MemoryStore(), bus });
    const { upstreamSessionId } = await post({ ...KEY, upstreamSessionId: undefined }, 'initialize').head.promise;
    session = { ...KEY, upstreamSessionId };
  });
  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const emit = (message: object): void => void stream.write(`data: ${JSON.stringify(message)}\n\n`);
  function post(of: UpstreamSession, method: string): Reader {
    const reader = new Reader();
    upstream.send({ method: 'POST', session: of, headers: [], body: ownBody({ method }) }, reader);
    return reader;
  }
  async function get(lastEventId?: string): Promise<Reader> {
    const reader = new Reader();
    upstream.send({ method: 'GET', session, headers: [], body: undefined, lastEventId }, reader);
    expect(await reader.head.promise).toMatchObject({ status: 200 });
    return reader;
  }
  /** Everything that was sent before has arrived where it belongs. */
  const arrived = (): Promise<void> => post(session, 'ping').ended.promise;

  test('gets messages that stand in several lines', async () => {
    const reader = await get();
    stream.write(`data: ${JSON.stringify(note('long'), null, 1).replaceAll('\n', '\ndata: ')}\n\n`);
    await arrived();
    expect(reader.messages).toEqual([note('long')]);
  });

  test('gets what came before its first stream, once', async () => {
    emit(note(1));
    emit(note(2));
    await arrived();
    const first = await get();
    emit(note(3));
    await arrived();
    expect(first.messages).toEqual([note(1), note(2), note(3)]);
    const second = await get();
    emit(note(4));
    await arrived();
    expect(second.messages).toEqual([note(4)]);
  });

  test('gets each message on one stream: the one that it has opened last', async () => {
    const first = await get();
    const call = post(session, 'slow');
    await call.head.promise;
    const second = await get();
    await first.ended.promise;
    emit(note(1));
    await arrived();
    expect([first.messages, second.messages]).toEqual([[], [note(1)]]);
    const resumed = await get(second.lastEventId);
    emit({ jsonrpc: '2.0', id: http.requests.at(-2)?.message.id, result: {} });
    emit(note(2));
    await call.ended.promise;
    await arrived();
    expect([second.messages, resumed.messages]).toEqual([[note(1), note(2)], [note(2)]]);
  });

  test('gets on its own stream what comes after the answer to a call, whoever was to take that', async () => {
    const reader = await get();
    await bus.addCall(KEY, { carrier: 'r:99', progressToken: null, toolCall: true, startedAt: 1 });
    emit(note('during the call'));
    emit({ jsonrpc: '2.0', id: 99, result: {} });
    emit(note('after it'));
    await arrived();
    expect(reader.messages).toEqual([note('after it')]);
  });

  const begun = (): Promise<ServerResponse> =>
    vi.waitFor(() => unanswered ?? Promise.reject(new Error('the request has not arrived')));

  test.each([
    ['1 MiB', 'x'.repeat(100_000), 11],
    ['100', 'x', 101],
  ])('H7 T17: gets an error when %s of messages come before the head of a POST', async (_most, data, count) => {
    const call = post(session, 'unanswered');
    const response = await begun();
    const aborted = once(response, 'close');
    const progress = { jsonrpc: '2.0', method: 'notifications/message', params: { data, progressToken: 't' } };
    await bus.addCall(KEY, { ...(await running()), progressToken: '"t"' });
    for (let i = 0; i < count; i++) emit(progress);
    await expect(call.ended.promise).rejects.toThrow('messages and no head');
    await aborted;
    expect([response.writableFinished, call.messages]).toEqual([false, []]);
  });

  const running = async (): Promise<RunningCall> => (await bus.calls(KEY)).at(-1) ?? expect.unreachable('no call runs');

  test('gets a large answer that comes before the head of its POST', async () => {
    const call = post(session, 'unanswered');
    await begun();
    const answer = { jsonrpc: '2.0', id: http.requests.at(-1)?.message.id, result: 'x'.repeat(2 * LOG_BYTES) };
    emit(answer);
    await call.ended.promise;
    expect([(await call.head.promise).status, call.messages]).toEqual([200, [answer]]);
  });

  test('H5 T17: is told that an answer was too large to be kept, when it takes up the stream of a call', async () => {
    const call = post(session, 'slow');
    await call.head.promise;
    const { id } = http.requests.at(-1)?.message ?? {};
    await bus.addCall(KEY, { ...(await running()), progressToken: '"t"' });
    emit({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 't' } });
    await vi.waitFor(() => expect(call.messages).toHaveLength(1));
    (await call.started.promise).abort();
    emit({ jsonrpc: '2.0', id, result: 'x'.repeat(LOG_BYTES) });
    await arrived();
    const resumed = await get(call.lastEventId);
    await resumed.ended.promise;
    expect(resumed.messages).toMatchObject([{ id, error: { message: expect.stringContaining('too large') } }]);
  });

  test('H5 T17: leaves nothing in memory of what nobody asked for', async () => {
    const reader = await get();
    await arrived();
    const before = account.held;
    for (let id = 1000; id < 1100; id++) emit({ jsonrpc: '2.0', id, result: 'x'.repeat(1000) });
    emit({ jsonrpc: '2.0', id: 'x'.repeat(1 << 20), result: {} });
    await arrived();
    expect(reader.messages).toEqual([]);
    expect(account.held - before).toBeLessThan(2000);
  });

  test('waits for a slow client, which gets everything in order', async () => {
    const reader = await get();
    const call = post(session, 'slow');
    const { pause, resume } = bound(await call.started.promise);
    await call.head.promise;
    pause();
    const { id } = http.requests.at(-1)?.message ?? {};
    emit({ jsonrpc: '2.0', id, result: {} });
    await arrived();
    expect(call.messages).toEqual([]);
    resume();
    await call.ended.promise;
    expect(call.messages).toEqual([{ jsonrpc: '2.0', id, result: {} }]);
    expect(reader.messages).toEqual([]);
  });

  test('ends the stream of a client that takes nothing, which finds the rest when it resumes', async () => {
    const reader = await get();
    emit(note('first'));
    await arrived();
    bound(await reader.started.promise).pause();
    const large = note('x'.repeat(LOG_BYTES / 4 - 1000));
    for (let i = 0; i < 5; i++) emit(large);
    await arrived();
    emit(note('last'));
    await reader.ended.promise;
    expect(reader.messages).toEqual([note('first')]);
    const resumed = await get(reader.lastEventId);
    await arrived();
    expect(resumed.messages.at(-1)).toEqual(note('last'));
    expect(resumed.messages.length).toBeGreaterThanOrEqual(4);
  });
});

test('a request to an address that is refused was never sent', async () => {
  const store = new MemoryStore();
  const bus = new MemoryBus({
    onListenerError: (error) => expect.unreachable(String(error)),
    account: sampleAccount(),
  });
  const rules = { loopback: false };
  const upstream = new LegacySseUpstream({ url: 'http://127.0.0.1:9/sse', insecureTls: false, rules, store, bus });
  const failed = Promise.withResolvers<{ readonly code: unknown; readonly sent: boolean }>();
  const sink = new Reader();
  sink.onError = (error: NodeJS.ErrnoException, sent?: boolean) =>
    failed.resolve({ code: error.code, sent: sent === true });
  const opening = { ...KEY, upstreamSessionId: undefined };
  upstream.send({ method: 'POST', session: opening, headers: [], body: ownBody({ method: 'initialize' }) }, sink);
  expect(await failed.promise).toEqual({ code: 'ERR_BLOCKED_ADDRESS', sent: false });
  await upstream.close();
});

const bound = (control: ResponseControl) => ({ pause: () => control.pause(), resume: () => control.resume() });
