import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { EventReader, isMethod, isResponse } from './kit/events.ts';
import { drain, initialize, openSession, textOf } from './kit/session.ts';
import { type SseUpstream, startSseUpstream } from './kit/sse-upstream.ts';

const note = (data: string) => ({ method: 'notifications/message', params: { level: 'info', data } });

describe('a server of HTTP+SSE, whose stream one of two replicas reads for both', { timeout: 30_000 }, () => {
  let upstream: SseUpstream;
  let deployment: Deployment;
  const client = new AbortController();
  const { signal } = client;

  beforeAll(async () => {
    upstream = await startSseUpstream();
    const servers = [mounted('up', upstream.url, { upstream: { transport: 'sse' } })];
    deployment = await startDeployment({ config: { servers } });
  });
  afterAll(async () => {
    client.abort();
    await deployment?.close();
    await upstream?.close();
  });

  test('answers calls through either replica, one after the other and at once', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    expect(session.initialized).toMatchObject({ protocolVersion: '2024-11-05', serverInfo: { name: 'sse-upstream' } });
    for (const [n, place] of [a, b, a, b, b].entries()) {
      expect(textOf(await session.at(place).tool('echo', { n }))).toBe(`{"n":${n}}`);
    }
    const calls = Array.from({ length: 20 }, (_, n) => session.at(n % 2 === 0 ? a : b).tool('echo', { n }));
    expect((await Promise.all(calls)).map(textOf)).toEqual(Array.from({ length: 20 }, (_, n) => `{"n":${n}}`));
    expect(upstream.sessions.size).toBe(1);
  });

  test('gets and gives the bytes of messages, large ones too', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const sent =
      '{ "id":9007199254740993,"params":{"arguments":{"big":9007199254740993,"f":1.0},"name":"echo"},"jsonrpc":"2.0","method":"tools/call" }';
    const result = '{ "content":[ ],"big":9007199254740993,"\\u0061":1.0}';
    for (const place of [a, b]) {
      await new EventReader(await session.at(place).send(sent)).rest();
      expect(upstream.requests.at(-1)?.text).toBe(sent);
      const answer = await session.at(place).request('tools/call', { name: 'bytes', arguments: { result } });
      expect(await answer.text()).toContain(`,"result":${result}}\n\n`);
      expect(textOf(await session.at(place).tool('big', { bytes: 2_000_000 }))).toHaveLength(2_000_000);
    }
  });

  test('asks the user in a call on one replica; the answer comes through the other', async () => {
    const { a, b } = deployment;
    const session = await openSession(a, { capabilities: { elicitation: {} } });
    for (const [asked, answering] of [
      [a, b],
      [b, a],
    ] as const) {
      const call = new EventReader(await session.at(asked).request('tools/call', { name: 'elicit' }));
      const { id } = await call.message(isMethod('elicitation/create'));
      const result = { action: 'accept', content: { name: 'Ada' } };
      expect(await drain(session.at(answering).send({ jsonrpc: '2.0', id, result }))).toBe(202);
      expect(JSON.parse(textOf(await call.message(isResponse)))).toMatchObject({ id, result });
      expect(await call.rest()).toEqual([]);
    }
  });

  test('reports progress to the call that it belongs to, and all else to the session’s stream', async () => {
    const { a, b } = deployment;
    const session = await openSession(b);
    const stream = new EventReader(await session.at(a).stream({ signal }));
    const progress = (token: string) => ({
      name: 'progress',
      arguments: { hold: 'progress' },
      _meta: { progressToken: token },
    });
    const first = new EventReader(await session.at(a).request('tools/call', progress('first')));
    const second = new EventReader(await session.at(b).request('tools/call', progress('second')));
    await first.message();
    await second.message();
    upstream.release('progress');
    for (const [reader, progressToken] of [
      [first, 'first'],
      [second, 'second'],
    ] as const) {
      const messages = await reader.rest();
      expect(messages.map(({ params }) => params)).toEqual([
        { progressToken, progress: 2, total: 3 },
        { progressToken, progress: 3, total: 3 },
        undefined,
      ]);
    }
    const changed = 'notifications/tools/list_changed';
    await session.at(b).tool('notify', { method: changed });
    expect(await stream.message()).toMatchObject({ method: changed });
  });

  test('notifies the session’s stream at either replica of what happens while no call runs', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const [upstreamSession] = [...upstream.sessions.values()].slice(-1);
    // Often, because what happens right after the head has been seen must not be lost even once.
    for (let n = 0; n < 40; n += 1) {
      const here = new AbortController();
      const stream = new EventReader(await session.at(n % 2 === 0 ? a : b).stream({ signal: here.signal }));
      upstreamSession?.getStream.send(JSON.stringify({ jsonrpc: '2.0', ...note(String(n)) }));
      expect(await stream.message(undefined, 2_000)).toMatchObject(note(String(n)));
      here.abort();
    }
  });

  test('may ask something before the session has a stream, of which the last one gets what comes', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const [upstreamSession] = [...upstream.sessions.values()].slice(-1);
    const send = (message: object): void =>
      upstreamSession?.getStream.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
    send({ id: 'early', method: 'roots/list' });
    await session.at(b).tool('echo');
    const first = new EventReader(await session.at(b).stream({ signal }));
    expect(await first.message()).toMatchObject({ id: 'early' });
    const second = new EventReader(await session.at(a).stream({ signal }));
    expect(await first.rest()).toEqual([]);
    send(note('late'));
    expect(await second.message()).toMatchObject(note('late'));
  });

  test('is told of a cancellation through the other replica', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const call = session.at(b).request('tools/call', { name: 'cancel_aware', arguments: { n: 'sse' } });
    await upstream.waitForRequest(({ text }) => text.includes('"n":"sse"'));
    const params = { requestId: 1 };
    expect(await drain(session.at(a).send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))).toBe(202);
    await upstream.waitForRequest(() => upstream.cancelled.length > 0);
    expect(upstream.cancelled).toEqual([params]);
    // Over this transport a server says nothing more about a cancelled call, so the adapter ends it.
    expect(await new EventReader(await call).rest()).toMatchObject([{ id: 1, error: { data: { code: 'cancelled' } } }]);
  });

  test('loses the session when it is ended through the replica that does not read its stream', async () => {
    const { a, b } = deployment;
    const known = upstream.sessions.size;
    const session = await openSession(a);
    const [upstreamId = ''] = [...upstream.sessions.keys()].slice(-1);
    const call = session.at(a).request('tools/call', { name: 'slow', arguments: { key: 'ended' } });
    await upstream.waitForRequest(({ text }) => text.includes('"ended"'));
    expect(await drain(session.at(b).end())).toBe(200);
    expect(await new EventReader(await call).rest()).toMatchObject([
      { id: 1, error: { data: { code: 'session_ended' } } },
    ]);
    await eventually(() => upstream.sessions.has(upstreamId)).toBe(false);
    expect(upstream.sessions.size).toBe(known);
    for (const place of [a, b]) expect(await drain(session.at(place).request('ping'))).toBe(404);
  });

  test('keeps no stream for a session that it refuses to open', async () => {
    const { a } = deployment;
    const [known, opened] = [upstream.sessions.size, upstream.opened];
    upstream.refusesInitialize = true;
    const refused = await initialize(a);
    upstream.refusesInitialize = false;
    expect(await refused.text()).toContain('Not today');
    expect(refused.headers.get('mcp-session-id')).toBeNull();
    expect(upstream.opened).toBe(opened + 1);
    await eventually(() => upstream.sessions.size).toBe(known);
  });

  test('keeps no stream for a client that goes away before it is open', async () => {
    const { a } = deployment;
    const [known, opened] = [upstream.sessions.size, upstream.opened];
    const gate = Promise.withResolvers<void>();
    upstream.gate = gate.promise;
    const gets = () => upstream.requests.filter(({ method }) => method === 'GET').length;
    const before = gets();
    const gone = new AbortController();
    const leaving = initialize(a, { signal: gone.signal });
    await upstream.waitForRequest(() => gets() > before);
    gone.abort();
    await expect(leaving).rejects.toThrow('abort');
    // By the time that it has answered others, the adapter has seen that this client is gone.
    for (let n = 0; n < 3; n += 1) expect(await drain(initialize(a, { path: '/mcp/none' }))).toBe(404);
    gate.resolve();
    await eventually(() => upstream.opened).toBe(opened + 1);
    await eventually(() => upstream.sessions.size).toBe(known);
  });

  test('works through a balancer that gives every request to the next replica', async () => {
    const { balancer } = deployment;
    const sessions = await Promise.all(Array.from({ length: 4 }, () => openSession(balancer)));
    const calls = sessions.flatMap((session, s) =>
      Array.from({ length: 10 }, async (_, n) => [
        `{"s":${s},"n":${n}}`,
        textOf(await session.at(balancer).tool('echo', { s, n })),
      ]),
    );
    for (const [expected, text] of await Promise.all(calls)) expect(text).toBe(expected);
  });
});
