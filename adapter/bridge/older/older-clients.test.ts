import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FakeExchange } from '../../exchange/testing/fake-upstream.ts';
import type { ControlMessage } from '../../state/message-bus.ts';
import { BridgedClient } from './testing/bridged-client.ts';
import { ClientSink } from './testing/client-sink.ts';

let client: BridgedClient;
beforeEach(() => {
  client = new BridgedClient();
});
afterEach(() => client[Symbol.asyncDispose]());

const exchange = (index: number): Promise<FakeExchange> => client.upstream.exchange(index);
const answer = (one: FakeExchange, result = '{}'): void => {
  const message = one.request.body?.messages[0];
  const idText = message?.kind === 'request' ? message.idText : 'null';
  one.json().data(`{"jsonrpc":"2.0","id":${idText},"result":${result}}`).end();
};
const call = (id: unknown, name = 't'): unknown => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });
const empty = (id: number): unknown => ({ jsonrpc: '2.0', id, result: {} });

describe('what is answered without asking the server for it', () => {
  test.for(['debug', 'emergency'])('a level: %s', async (level) => {
    const sink = await client.request('logging/setLevel', { level }).over();
    expect([sink.messages, client.upstream.own]).toEqual([[empty(1)], []]);
  });

  test.for(['loud', undefined, 7])('a level that is none: %j', async (level) => {
    const sink = await client.request('logging/setLevel', { level }).over();
    expect(sink.messages[0]).toMatchObject({ id: 1, error: { code: -32602 } });
  });

  test.for(['server/discover', 'subscriptions/listen', 'tasks/get', 'tasks/list'])(
    'what older revisions have no such method of: %s',
    async (method) => {
      const sink = await client.request(method).over();
      expect([sink.head?.status, sink.messages[0]]).toEqual([
        200,
        { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'Method not found' } },
      ]);
      expect(client.upstream.exchanges).toEqual([]);
    },
  );

  test.for(['notifications/initialized', 'notifications/roots/list_changed', 'notifications/cancelled'])(
    'notifications: %s',
    async (method) => {
      const sink = await client.post({ jsonrpc: '2.0', method }).over();
      expect([sink.head?.status, sink.texts, client.upstream.exchanges]).toEqual([202, [], []]);
    },
  );

  test('answers that nobody has asked for', async () => {
    for (const id of [1, 'theirs', 'mcpa-ask-forged']) {
      const sink = await client.post({ jsonrpc: '2.0', id, result: {} }).over();
      expect(sink.head?.status).toBe(202);
    }
  });

  test('but not when the bus is down', async () => {
    vi.spyOn(client.bus, 'append').mockRejectedValue(new Error('down'));
    const sink = await client.post({ jsonrpc: '2.0', id: 'mcpa-ask-1', result: {} }).over();
    expect(sink.failure).toEqual({ error: new Error('down'), sent: false });
  });
});

describe('a ping', () => {
  test('is answered while the server is known', async () => {
    for (let i = 0; i < 3; i++) expect((await client.request('ping').over()).messages).toEqual([empty(1)]);
    expect([client.upstream.own, client.upstream.exchanges]).toEqual([['server/discover'], []]);
  });

  test('finds out that it speaks an older revision now', async () => {
    client.upstream.discovery = undefined;
    expect((await client.request('ping').over()).head?.status).toBe(404);
  });
});

describe('a subscription', () => {
  const told: ControlMessage[] = [];
  beforeEach(() => {
    told.length = 0;
    client.bus.onControl((message) => told.push(message));
  });

  test.for(['subscribe', 'unsubscribe'])('is told to all replicas: %s', async (what) => {
    const sink = await client.request(`resources/${what}`, { uri: 'a' }).over();
    expect(sink.messages).toEqual([empty(1)]);
    expect(told).toEqual([{ type: 'subscribed', serverId: 's', sessionId: 'a', uri: 'a', isOn: what === 'subscribe' }]);
  });

  test.for([{}, { uri: 7 }, { uri: 'x'.repeat((8 << 10) + 1) }])('is to a URI that can be told: %#', async (params) => {
    const sink = await client.request('resources/subscribe', params).over();
    expect(sink.messages[0]).toMatchObject({ error: { code: -32602 } });
    expect(told).toEqual([]);
  });

  test('is no method of a server that takes none', async () => {
    client.upstream.discovery = { supportedVersions: ['2026-07-28'], capabilities: { resources: {} } };
    const sink = await client.request('resources/subscribe', { uri: 'a' }).over();
    expect(sink.messages[0]).toMatchObject({ error: { code: -32601 } });
  });

  test('fails when the bus is down', async () => {
    vi.spyOn(client.bus, 'publish').mockRejectedValue(new Error('down'));
    const sink = await client.request('resources/subscribe', { uri: 'a' }).over();
    expect(sink.failure?.error).toEqual(new Error('down'));
  });
});

describe('a batch (2025-03-26)', () => {
  test('is each message on its own, and its answers one stream', async () => {
    const sink = client.post([
      call(1),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      call('b'),
      { jsonrpc: '2.0', id: 3, method: 'ping' },
    ]);
    const [first, second] = [await exchange(0), await exchange(1)];
    for (const one of [first, second]) expect(one.request.body?.text).toMatch(/^\{.*\}$/);
    answer(second, '{"of":"b"}');
    answer(first, '{"of":1}');
    await sink.over();
    expect(sink.messages).toEqual([
      empty(3),
      { jsonrpc: '2.0', id: 'b', result: { of: 'b' } },
      { jsonrpc: '2.0', id: 1, result: { of: 1 } },
    ]);
  });

  test('has answers of the client and requests', async () => {
    const append = vi.spyOn(client.bus, 'append');
    const sink = client.post([{ jsonrpc: '2.0', id: 'mcpa-ask-1', result: { a: 1 } }, call(1)]);
    answer(await exchange(0));
    await sink.over();
    expect([sink.head?.status, sink.messages]).toEqual([200, [empty(1)]]);
    expect(append.mock.calls[0]?.[1]).toEqual({
      carrier: 'q:"mcpa-ask-1"',
      message: '{"jsonrpc":"2.0","id":"mcpa-ask-1","result":{"a":1}}',
      isAnswer: true,
    });
  });

  test('without requests is taken', async () => {
    const sink = client.post([
      { jsonrpc: '2.0', id: 'mcpa-ask-1', result: {} },
      { jsonrpc: '2.0', method: 'a' },
    ]);
    expect((await sink.over()).head?.status).toBe(202);
  });

  test('one of which fails has the answers of the others', async () => {
    const sink = client.post([call(1), call(2), call(3)]);
    (await exchange(0)).fail(false);
    (await exchange(1)).json(503).data('busy').end();
    answer(await exchange(2));
    await sink.over();
    const byId = new Map(sink.messages.map((message) => [message['id'], message]));
    expect(byId.get(1)).toMatchObject({ error: { code: 502, data: { code: 'upstream_unreachable' } } });
    expect(byId.get(2)).toMatchObject({ error: { code: 502, data: { code: 'upstream_failed' } } });
    expect([byId.get(3), sink.failure]).toEqual([empty(3), undefined]);
  });

  test('cancels with what it carries, and ends without what it has cancelled', async () => {
    const sink = client.post([call(1), call(2)]);
    const [first, second] = [await exchange(0), await exchange(1)];
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    await client.post([cancelled, { jsonrpc: '2.0', method: 'a' }]).over();
    expect([first.aborted, second.aborted]).toEqual([true, false]);
    answer(second);
    await sink.over();
    expect(sink.messages).toEqual([empty(2)]);
  });

  test('whose client leaves is left altogether', async () => {
    const sink = client.post([call(1), call(2)]);
    const [first, second] = [await exchange(0), await exchange(1)];
    sink.control?.abort();
    expect([first.aborted, second.aborted]).toEqual([true, true]);
    expect(sink.failure).toBeUndefined();
  });
});

test('initialize is answered from what the server says of itself', async () => {
  const sink = new ClientSink();
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const message = { kind: 'request', method: 'initialize', params, idText: '9007199254740993' } as const;
  const discovery = await client.older.discover([]);
  if (discovery === undefined) expect.unreachable();
  client.older.initialize(
    {
      method: 'POST',
      session: undefined,
      headers: [],
      body: { bytes: Buffer.alloc(0), text: '', messages: [message], batch: false },
    },
    sink,
    discovery,
  );
  expect(sink.head).toMatchObject({ status: 200, upstreamSessionId: 'bridged to 2026-07-28' });
  expect(sink.texts[0]).toMatch(/^\{"jsonrpc":"2.0","id":9007199254740993,"result":\{"protocolVersion":"2025-06-18"/);
});

test('nothing is heard of other replicas at the end', async () => {
  client.call();
  const one = await exchange(0);
  client.older.close();
  await client.bus.publish({ type: 'cancelled', serverId: 's', sessionId: 'a', requestId: '1' });
  expect(one.aborted).toBe(false);
});
