import { afterEach, describe, expect, test } from 'vitest';
import { openRawClient, readEvents, type SseEvent } from '../raw-client.ts';
import type { Behavior } from './behavior.ts';
import { asObject } from './json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

const text = (message: Record<string, unknown>): unknown => message.result;
const textOf = (value: string) => ({ content: [{ type: 'text', text: value }] });
const dataOf = (event: SseEvent): unknown => (event.data === '' ? '' : JSON.parse(event.data));

const byId = (a: unknown, b: unknown): number =>
  JSON.stringify(asObject(a).id) < JSON.stringify(asObject(b).id) ? -1 : 1;

async function nextEvent(events: AsyncGenerator<SseEvent, undefined>): Promise<SseEvent> {
  const { value } = await events.next();
  if (value === undefined) throw new Error('the stream has ended');
  return value;
}

describe('the scripted upstream', { timeout: 15_000 }, () => {
  const opened: ScriptedUpstream[] = [];
  async function start(behavior?: Partial<Behavior>): Promise<ScriptedUpstream> {
    const upstream = await startScriptedUpstream(behavior);
    opened.push(upstream);
    return upstream;
  }
  afterEach(async () => {
    for (const upstream of opened.splice(0)) await upstream.close();
  });

  test.for(['json', 'sse'] as const)('answers as %s and records every request as it came', async (answers) => {
    const upstream = await start({ answers });
    const client = await openRawClient(upstream.url);
    const body =
      ' {"id": "a", "method":"tools/call","jsonrpc":"2.0","params":{"name":"echo","arguments":{"b":1,"a":2}}}';
    const response = await client.post(body, { 'x-probe': 'yes' });
    expect(response.headers.get('content-type')).toBe(answers === 'json' ? 'application/json' : 'text/event-stream');
    expect(await response.text()).toContain(String.raw`{\"b\":1,\"a\":2}`);
    const [recorded] = upstream.requestsOf('tools/call');
    expect(recorded).toMatchObject({ method: 'POST', path: '/mcp', text: body, headers: { 'x-probe': 'yes' } });
    expect(upstream.requests.map((request) => request.method)).toEqual(['POST', 'POST', 'POST']);
  });

  test('answers with exact bytes, also of an id over 2^53', async () => {
    const client = await openRawClient((await start()).url);
    const result = '{ "z":12345678901234567890,  "content":[], "a":1.0 }';
    const call = (args: unknown, id: string) =>
      client.post(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"bytes","arguments":${JSON.stringify(args)}}}`,
      );
    const exact = await call({ result }, '9007199254740993');
    expect(await exact.text()).toBe(`{"jsonrpc":"2.0","id":9007199254740993,"result":${result}}`);
    const whole = await call({ body: '{"extra":1, "id":$ID,"result":{},"jsonrpc":"2.0"}' }, '"x"');
    expect(await whole.text()).toBe('{"extra":1, "id":"x","result":{},"jsonrpc":"2.0"}');
  });

  test('holds a slow call until the test releases it', async () => {
    const upstream = await start();
    const client = await openRawClient(upstream.url);
    const call = client.callTool('slow', { key: 'first' });
    await upstream.waitForMessage('tools/call');
    expect(await Promise.race([call, client.callTool('echo')])).toMatchObject({ id: 3 });
    upstream.release('first');
    expect(text(await call)).toEqual(textOf('done'));
    expect(text(await client.callTool('slow', { ms: 1 }))).toEqual(textOf('done'));
    expect(JSON.stringify(await client.callTool('big', { bytes: 5000 }))).toContain('x'.repeat(5000));
  });

  test.for([
    ['elicit', 'elicitation/create'],
    ['sample', 'sampling/createMessage'],
  ] as const)('asks the client in the stream of %s', async ([tool, method]) => {
    const client = await openRawClient((await start()).url);
    const events = readEvents(await client.request('tools/call', { name: tool }));
    const question = dataOf(await nextEvent(events));
    expect(question).toMatchObject({ method });
    const { id } = asObject(question);
    const answer = await client.post({ jsonrpc: '2.0', id, result: { action: 'accept' } });
    expect(answer.status).toBe(202);
    expect(JSON.stringify(dataOf(await nextEvent(events)))).toContain('accept');
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  test('sends what belongs to no call on the stream of GET', async () => {
    const upstream = await start();
    const client = await openRawClient(upstream.url);
    expect(text(await client.callTool('notify'))).toEqual(textOf('no stream'));
    const events = readEvents(await client.get());
    expect((await client.get()).status).toBe(409);
    await client.callTool('notify', { method: 'notifications/x', params: { n: 1 } });
    expect(dataOf(await nextEvent(events))).toEqual({ jsonrpc: '2.0', method: 'notifications/x', params: { n: 1 } });
    upstream.tools.delete('big');
    upstream.announceToolsChanged();
    expect(dataOf(await nextEvent(events))).toMatchObject({ method: 'notifications/tools/list_changed' });
    expect(JSON.stringify(await client.call('tools/list'))).not.toContain('"big"');

    upstream.behavior.singleGet = false;
    const second = readEvents(await client.get());
    expect(await events.next()).toMatchObject({ done: true });
    await client.callTool('notify');
    expect(dataOf(await nextEvent(second))).toMatchObject({ method: 'notifications/message' });
    upstream.behavior.refuseGet = true;
    expect((await client.get()).status).toBe(405);
  });

  test('resumes the stream of a call, whose connection broke, with GET', async () => {
    const upstream = await start({ eventIds: true, retryMs: 7 });
    const client = await openRawClient(upstream.url);
    const call = { name: 'progress', arguments: { hold: 'go' }, _meta: { progressToken: 't' } };
    const events = readEvents(await client.request('tools/call', call));
    expect(await nextEvent(events)).toMatchObject({ data: '', retry: '7' });
    const first = await nextEvent(events);
    expect(dataOf(first)).toMatchObject({ params: { progressToken: 't', progress: 1 } });
    upstream.breakStreams();
    await expect(events.next()).rejects.toThrow('terminated');

    upstream.release('go');
    const resumed: unknown[] = [];
    for await (const event of readEvents(await client.get(first.id))) resumed.push(dataOf(event));
    expect(resumed).toMatchObject([{ params: { progress: 2 } }, { params: { progress: 3 } }, { id: 2, result: {} }]);
    expect((await client.get('unknown')).status).toBe(400);
  });

  test('tells a call that it was cancelled, and never answers it', async () => {
    const upstream = await start();
    const client = await openRawClient(upstream.url);
    const events = readEvents(await client.request('tools/call', { name: 'cancel_aware' }));
    await client.post({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 2, reason: 'enough' },
    });
    expect(await events.next()).toMatchObject({ done: true });
    expect(upstream.cancelled).toEqual([{ requestId: 2, reason: 'enough' }]);
    upstream.release('cancel_aware');
    expect(text(await client.callTool('cancel_aware'))).toEqual(textOf('not cancelled'));
  });

  test('answers 404 after it forgot its sessions, and counts who initialises again', async () => {
    const upstream = await start();
    const client = await openRawClient(upstream.url);
    const events = readEvents(await client.get());
    upstream.forgetSessions();
    expect(await events.next()).toMatchObject({ done: true });
    expect((await client.request('ping')).status).toBe(404);
    await openRawClient(upstream.url);
    expect(upstream.initializes).toHaveLength(2);
    const missing = await fetch(upstream.url, { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
    expect(missing.status).toBe(400);
  });

  test('ends a session with DELETE, or refuses to', async () => {
    const upstream = await start({ refuseDelete: true });
    const client = await openRawClient(upstream.url);
    expect((await client.delete()).status).toBe(405);
    upstream.behavior.refuseDelete = false;
    expect((await client.delete()).status).toBe(200);
    expect((await client.request('ping')).status).toBe(404);
  });

  test('works without session ids', async () => {
    const client = await openRawClient((await start({ sessions: false })).url);
    expect(client.sessionId).toBeUndefined();
    expect(await client.call('ping')).toMatchObject({ result: {} });
  });

  test.for(['json', 'sse'] as const)('answers a batch as %s', async (answers) => {
    const upstream = await start({ answers });
    const client = await openRawClient(upstream.url, { protocolVersion: '2025-03-26' });
    const batch = [
      { jsonrpc: '2.0', id: 'p', method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
      { jsonrpc: '2.0', id: 'u', method: 'unknown' },
    ];
    const response = await client.post(batch);
    const responses: unknown[] = [];
    if (answers === 'json') responses.push(await response.json());
    else for await (const event of readEvents(response)) responses.push(dataOf(event));
    expect(responses.flat().toSorted(byId)).toMatchObject([
      { id: 'p', result: {} },
      { id: 'u', error: {} },
    ]);
    expect(upstream.requestsOf('unknown')).toHaveLength(1);
    upstream.behavior.batches = false;
    expect((await client.post(batch)).status).toBe(400);
  });

  test('pages its list of tools', async () => {
    const upstream = await start({ pageSize: 5 });
    const client = await openRawClient(upstream.url);
    const names: string[] = [];
    let cursor: unknown;
    do {
      const result = asObject((await client.call('tools/list', { cursor })).result);
      for (const [, name = ''] of JSON.stringify(result.tools).matchAll(/"name":"(\w+)"/g)) names.push(name);
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    expect(names).toEqual([...upstream.tools.keys()]);
  });

  test('delays, intercepts and breaks as told', async () => {
    const upstream = await start();
    const client = await openRawClient(upstream.url);
    upstream.behavior.headerDelayMs = 60;
    const started = performance.now();
    await client.call('ping');
    expect(performance.now() - started).toBeGreaterThanOrEqual(55);
    upstream.behavior.intercept = () => ({ status: 503, headers: { 'retry-after': '1' }, body: 'busy' });
    const busy = await client.request('ping');
    expect([busy.status, busy.headers.get('retry-after'), await busy.text()]).toEqual([503, '1', 'busy']);
    upstream.behavior.intercept = () => 'destroy';
    await expect(client.request('ping')).rejects.toThrow('fetch failed');
  });

  test('dies with its connections and comes back on the same port with its sessions', async () => {
    const upstream = await start();
    const client = await openRawClient(upstream.url);
    const call = client.callTool('slow');
    call.catch(() => undefined);
    const { disconnected } = await upstream.waitForMessage('tools/call');
    await upstream.die();
    await expect(call).rejects.toThrow('fetch failed');
    expect(disconnected.aborted).toBe(true);
    await expect(client.request('ping')).rejects.toThrow('fetch failed');
    await upstream.listenAgain();
    expect(await client.call('ping')).toMatchObject({ result: {} });
  });

  test('says which requests came when the awaited one does not', async () => {
    const upstream = await start();
    await openRawClient(upstream.url);
    await expect(upstream.waitForMessage('tools/call', 20)).rejects.toThrow('notifications/initialized');
  });
});
