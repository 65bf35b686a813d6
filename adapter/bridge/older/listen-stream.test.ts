import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FakeExchange } from '../../exchange/testing/fake-upstream.ts';
import { BridgedClient } from './testing/bridged-client.ts';
import type { ClientSink } from './testing/client-sink.ts';

const CHANGED = ['notifications/tools/list_changed', 'notifications/prompts/list_changed'];
const ack = (taken: unknown): string =>
  `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":${JSON.stringify(taken)}}}`;
const ACK = ack({ toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [] });

let client: BridgedClient;
beforeEach(() => {
  vi.useFakeTimers();
  client = new BridgedClient();
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  vi.useRealTimers();
});

const exchange = (index: number): Promise<FakeExchange> => client.upstream.exchange(index);
const count = (): number => client.upstream.exchanges.length;
const filterOf = (one: FakeExchange): unknown => {
  const { params } = JSON.parse(one.request.body?.text ?? '') as { params: Record<string, unknown> };
  return params['notifications'];
};
const say = (one: FakeExchange, text: string): FakeExchange => one.data(`data: ${text}\n\n`);
const begin = (one: FakeExchange): FakeExchange => say(one.eventStream(), ACK);
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const methods = (sink: ClientSink): unknown[] => sink.messages.map(({ method }) => method);
const subscribe = (uri: string, isOn = true): Promise<void> =>
  client.bus.publish({ type: 'subscribed', serverId: 's', sessionId: 'a', uri, isOn });

async function listening(): Promise<{ sink: ClientSink; first: FakeExchange }> {
  const sink = client.stream();
  const first = begin(await exchange(0));
  await settle();
  return { sink, first };
}

describe('the stream of a client', () => {
  test('begins at once, and hears what the server tells, in its own words', async () => {
    const { sink, first } = await listening();
    expect(sink.head).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } });
    expect(filterOf(first)).toEqual({ toolsListChanged: true, promptsListChanged: true });
    expect(first.request.headers).toEqual(expect.arrayContaining(['accept', 'application/json, text/event-stream']));
    const meta = '"io.modelcontextprotocol/subscriptionId":7,"n":9007199254740993';
    say(first, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{${meta}}}}`);
    say(first, '{"jsonrpc":"2.0","method":"notifications/message","params":{"x":1e400}}');
    const own = '"_meta":{"io.modelcontextprotocol/subscriptionId":7}';
    say(first, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{${own},"uri":"a"}}`);
    expect(sink.texts.splice(2)).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}}',
    ]);
    expect(sink.texts).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"n":9007199254740993}}}',
      '{"jsonrpc":"2.0","method":"notifications/message","params":{"x":1e400}}',
    ]);
  });

  test('follows what the session has subscribed to', async () => {
    client.session = { ...client.session, subscriptions: ['a', 'b'] };
    const { first } = await listening();
    expect(filterOf(first)).toMatchObject({ resourceSubscriptions: ['a', 'b'] });
  });

  test('T17: follows no more than a session may have subscribed to', async () => {
    await listening();
    const uris = Array.from({ length: 1_001 }, (_, index) => `x:${index}`);
    for (const uri of uris) void subscribe(uri);
    const second = begin(await exchange(1));
    await settle();
    expect(filterOf(second)).toMatchObject({ resourceSubscriptions: uris.slice(0, 1_000) });
    for (const uri of uris) void subscribe(uri, false);
    for (const letter of 'abcdefghi') void subscribe(letter.repeat(8_000));
    const third = begin(await exchange(2));
    await settle();
    expect(filterOf(third)).toMatchObject({ resourceSubscriptions: { length: 8 } });
  });

  test('is not there where the server tells nothing', async () => {
    client.upstream.discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    expect((await client.stream().over()).head?.status).toBe(405);
    expect(count()).toBe(0);
  });

  test('of a server that speaks an older revision now is lost', async () => {
    client.upstream.discovery = undefined;
    expect((await client.stream().over()).head?.status).toBe(404);
  });

  test('fails where the server cannot be reached', async () => {
    vi.spyOn(client.upstream, 'send').mockImplementation((_, sink) => sink.onError(new Error('away'), false));
    expect((await client.stream().over()).failure).toMatchObject({ sent: false });
  });

  test('waits where its client does', async () => {
    const { sink, first } = await listening();
    sink.control?.pause();
    await subscribe('a');
    const second = await exchange(1);
    expect([first.paused, second.paused]).toEqual([true, true]);
    sink.control?.resume();
    expect([first.paused, second.paused]).toEqual([false, false]);
  });
});

describe('what a server offers to tell of, and leaves out of what it takes', () => {
  const LEFT_OUT = ['promptsListChanged', 'resourceSubscriptions'] as const;
  const offered = async (): Promise<unknown> => (await client.older.discover([]))?.capabilities;

  beforeEach(async () => {
    client.session = { ...client.session, subscriptions: ['a'] };
    client.stream();
    say((await exchange(0)).eventStream(), ack({ toolsListChanged: true, promptsListChanged: 1 }));
    await settle();
  });

  test('is not offered to the next client, for an hour', async () => {
    const capabilities = { tools: { listChanged: true }, prompts: {}, resources: {}, logging: {} };
    expect(await offered()).toEqual(capabilities);
    await vi.advanceTimersByTimeAsync(59 * 60_000);
    expect(await offered()).toEqual(capabilities);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await offered()).toMatchObject({ prompts: { listChanged: true }, resources: { subscribe: true } });
  });

  test('is said once, here and to the other replicas', async () => {
    const heard: unknown[] = [];
    client.bus.onControl((message) => heard.push(message));
    client.stream();
    const second = (await exchange(1)).eventStream();
    expect(filterOf(second)).toEqual({ toolsListChanged: true });
    say(say(second, ack({})), ack({}));
    await settle();
    expect(client.unannounced).toEqual([LEFT_OUT, ['toolsListChanged']]);
    expect(heard).toEqual([{ type: 'changes-untold', serverId: 's', sessionId: '', changes: ['toolsListChanged'] }]);
  });

  test('counts at a replica that was told of it', async () => {
    await using other = new BridgedClient();
    await other.bus.publish({ type: 'changes-untold', serverId: 's', sessionId: '', changes: LEFT_OUT });
    expect((await other.older.discover([]))?.capabilities).toEqual(await offered());
    expect(other.unannounced).toEqual([]);
  });
});

describe('a stream of the server that breaks off', () => {
  test('is opened again, and everything may have changed, once', async () => {
    const { sink, first } = await listening();
    first.fail(true);
    await vi.advanceTimersByTimeAsync(499);
    expect(count()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    const second = await exchange(1);
    expect(methods(sink)).toEqual([]);
    begin(second);
    await settle();
    expect(methods(sink)).toEqual(CHANGED);
    say(second, ACK);
    await settle();
    expect([methods(sink), sink.ended]).toEqual([CHANGED, false]);
  });

  test.for(['a result', 'an end'])('also by %s', async (how) => {
    const { first } = await listening();
    const message = first.request.body?.messages[0];
    if (how === 'an end') first.end();
    else say(first, `{"jsonrpc":"2.0","id":${message?.kind === 'request' ? message.idText : ''},"result":{}}`);
    await vi.advanceTimersByTimeAsync(500);
    expect(count()).toBe(2);
  });

  test('is opened later each time, half a minute at most, and soon again once it held', async () => {
    const { first } = await listening();
    let last = first;
    const pauses: number[] = [];
    for (let i = 0; i < 8; i++) {
      last.fail(false);
      const since = Date.now();
      const before = count();
      await settle();
      while (count() === before) await vi.advanceTimersToNextTimerAsync();
      last = await exchange(before);
      pauses.push(Date.now() - since);
    }
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    begin(last);
    await vi.advanceTimersByTimeAsync(30_001);
    last.fail(true);
    await vi.advanceTimersByTimeAsync(500);
    expect(count()).toBe(10);
  });

  test('that tells nothing at first is opened again after a while', async () => {
    const sink = client.stream();
    const first = (await exchange(0)).eventStream();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(first.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(500);
    begin(await exchange(1));
    await settle();
    expect(methods(sink)).toEqual([]);
  });

  test('because the server knows no streams is not opened again', async () => {
    const sink = client.stream();
    (await exchange(0)).json(404).data('{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"No"}}').end();
    await vi.advanceTimersByTimeAsync(100_000);
    expect([count(), sink.ended]).toEqual([1, false]);
    sink.control?.abort();
    await settle();
  });

  test('because the server speaks an older revision now ends that of the client', async () => {
    const { sink, first } = await listening();
    first.fail(true);
    client.upstream.discovery = undefined;
    await vi.advanceTimersByTimeAsync(500);
    (await exchange(1))
      .json(400)
      .data('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}')
      .end();
    await vi.waitFor(() => expect(sink.ended).toBe(true));
    await vi.advanceTimersByTimeAsync(100_000);
    expect(count()).toBe(2);
  });
});

describe('another filter', () => {
  test('is listened to before the one before ends', async () => {
    const { sink, first } = await listening();
    await subscribe('a');
    const second = await exchange(1);
    expect(filterOf(second)).toMatchObject({ resourceSubscriptions: ['a'] });
    say(first, '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}');
    expect([first.aborted, methods(sink)]).toEqual([false, ['notifications/prompts/list_changed']]);
    begin(second);
    await settle();
    expect([first.aborted, methods(sink)]).toEqual([true, ['notifications/prompts/list_changed']]);
    await subscribe('a', false);
    expect(filterOf(await exchange(2))).not.toHaveProperty('resourceSubscriptions');
  });

  test('that is none opens nothing', async () => {
    await listening();
    await subscribe('a', false);
    await client.bus.publish({ type: 'subscribed', serverId: 's', sessionId: 'b', uri: 'a', isOn: true });
    await settle();
    expect(count()).toBe(1);
  });

  test('of many changes is opened one at a time', async () => {
    await listening();
    for (let i = 0; i < 1000; i++) await subscribe(`u${i}`);
    await settle();
    expect(count()).toBe(2);
    begin(await exchange(1));
    await settle();
    const third = await exchange(2);
    expect((filterOf(third) as { resourceSubscriptions: string[] }).resourceSubscriptions).toHaveLength(1000);
    begin(third);
    await settle();
    expect(count()).toBe(3);
  });

  test('that is refused is tried again, while the one before is heard', async () => {
    const { sink, first } = await listening();
    await subscribe('a');
    (await exchange(1)).fail(false);
    await vi.advanceTimersByTimeAsync(500);
    begin(await exchange(2));
    await settle();
    expect([first.aborted, methods(sink)]).toEqual([true, []]);
  });

  test('while nothing is listened to is that of the next stream', async () => {
    const { sink, first } = await listening();
    first.fail(true);
    await subscribe('a');
    await vi.advanceTimersByTimeAsync(500);
    const second = await exchange(1);
    expect(filterOf(second)).toMatchObject({ resourceSubscriptions: ['a'] });
    begin(second);
    await settle();
    expect([methods(sink), count()]).toEqual([CHANGED, 2]);
  });
});

describe('a client that leaves', () => {
  test('leaves all streams of the server, and opens none', async () => {
    const timers = vi.getTimerCount();
    const { sink, first } = await listening();
    await subscribe('a');
    const second = await exchange(1);
    sink.control?.abort();
    await settle();
    expect([first.aborted, second.aborted, sink.ended, vi.getTimerCount()]).toEqual([true, true, false, timers]);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(count()).toBe(2);
  });

  test('between two streams opens no other', async () => {
    const { sink, first } = await listening();
    first.fail(true);
    await settle();
    sink.control?.abort();
    await vi.advanceTimersByTimeAsync(100_000);
    await subscribe('a');
    expect(count()).toBe(1);
  });

  test('before the server was asked opens none', async () => {
    client.stream().control?.abort();
    await vi.advanceTimersByTimeAsync(1000);
    expect(count()).toBe(0);
  });
});
