import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Holder } from '../../byte-account.ts';
import type { FakeExchange } from '../../exchange/testing/fake-upstream.ts';
import { parseBody } from '../../exchange/message.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { BridgedClient } from './testing/bridged-client.ts';
import { ClientSink } from './testing/client-sink.ts';

let client: BridgedClient;
beforeEach(() => {
  client = new BridgedClient();
});
afterEach(async () => {
  vi.useRealTimers();
  await client[Symbol.asyncDispose]();
});

const exchange = (index: number): Promise<FakeExchange> => client.upstream.exchange(index);
const sentIn = (one: FakeExchange): { id: unknown; params: Record<string, unknown> } =>
  JSON.parse(one.request.body?.text ?? '') as { id: unknown; params: Record<string, unknown> };
const metaIn = (one: FakeExchange): Record<string, unknown> => sentIn(one).params['_meta'] as Record<string, unknown>;
const response = (rest: string, id = '1'): string => `{"jsonrpc":"2.0","id":${id},${rest}}`;
const answers = (one: FakeExchange, rest: string, status = 200): void => one.json(status).data(response(rest)).end();
const asks = (one: FakeExchange, requests: Record<string, unknown>, more = '"requestState":"s"'): void =>
  answers(one, `"result":{"resultType":"input_required","inputRequests":${JSON.stringify(requests)},${more}}`);
const ROOTS = { r: { method: 'roots/list' } };
const replies = (id: string, rest: string): ClientSink => client.post(response(rest, JSON.stringify(id)));

describe('a request of an older client', () => {
  test('is one request of the newer revision', async () => {
    const sink = client.call('t', { a: 1 });
    const sent = await exchange(0);
    expect(sentIn(sent)).toMatchObject({ id: 1, params: { name: 't', arguments: { a: 1 } } });
    expect(sent.request.headers).toEqual(expect.arrayContaining(['mcp-method', 'tools/call', 'mcp-name', 't']));
    expect(sent.request.session).toBeUndefined();
    answers(sent, '"result":{"resultType":"complete","content":[],"n":9007199254740993}');
    await sink.over();
    expect([sink.head?.status, sink.texts]).toEqual([200, [response('"result":{"content":[],"n":9007199254740993}')]]);
    expect([client.upstream.exchanges.length, client.upstream.own, client.rounds]).toEqual([1, ['tools/list'], [0]]);
  });

  test('asks for its tools once', async () => {
    for (const index of [0, 1]) {
      const sink = client.call();
      answers(await exchange(index), '"result":{}');
      await sink.over();
    }
    expect(client.upstream.own).toEqual(['tools/list']);
  });

  test('hears notifications on its stream, as they are', async () => {
    const sink = client.call();
    const note = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"theirs","n":1e400}}';
    // Servers of the newer revision send no requests.
    const question = '{"jsonrpc":"2.0","id":"theirs","method":"sampling/createMessage","params":{}}';
    (await exchange(0))
      .eventStream()
      .data(`data: ${question}\n\ndata: ${note}\n\ndata: ${response('"result":{}')}\n\n`);
    await sink.over();
    expect(sink.texts).toEqual([note, response('"result":{}')]);
  });

  test('gets what the level says that the client has set', async () => {
    client.session = { ...client.session, logLevel: '{"level":"warning"}' };
    client.call();
    expect(metaIn(await exchange(0))['io.modelcontextprotocol/logLevel']).toBe('warning');
  });

  test('of an unknown method is refused in the older way (404 → 200)', async () => {
    const sink = client.request('nothing/such');
    answers(await exchange(0), '"error":{"code":-32601,"message":"No"}', 404);
    await sink.over();
    expect([sink.head?.status, sink.messages]).toEqual([
      200,
      [JSON.parse(response('"error":{"code":-32601,"message":"No"}'))],
    ]);
    expect(client.upstream.own).toEqual([]);
  });

  test.for([401, 403, 429, 503])('gets the refusal of a server as it is: %d', async (status) => {
    const sink = client.call();
    (await exchange(0)).json(status, { 'retry-after': '7' }).data(response('"error":{"code":-32000}')).end();
    await sink.over();
    expect([sink.head?.status, sink.head?.headers['retry-after'], sink.texts]).toEqual([
      status,
      '7',
      [response('"error":{"code":-32000}')],
    ]);
  });

  test.for([true, false])('fails as its exchange does: sent %s', async (sent) => {
    const sink = client.call();
    (await exchange(0)).fail(sent);
    await sink.over();
    expect(sink.failure).toMatchObject({ sent, error: { message: 'the connection broke' } });
  });
});

describe('questions', () => {
  test('become requests on the stream of the call, and their answers the next round', async () => {
    const sink = client.call();
    asks(
      await exchange(0),
      { n: { method: 'elicitation/create', params: { message: 'm' } }, ...ROOTS },
      '"requestState":"\\u0073\\/"',
    );
    const [form, roots] = [await sink.message('elicitation/create'), await sink.message('roots/list')];
    expect([form.params, roots.params]).toEqual([{ message: 'm' }, {}]);
    await replies(roots.id, '"result":{ "roots":[] }').over();
    expect((await replies(form.id, '"result":{"n":9007199254740993}').over()).head?.status).toBe(202);
    const next = await exchange(1);
    expect(next.request.body?.text).toContain(
      '"inputResponses":{"n":{"n":9007199254740993},"r":{ "roots":[] }},"requestState":"\\u0073\\/"',
    );
    answers(next, '"result":{"content":[]}');
    await sink.over();
    expect(sink.texts.at(-1)).toBe(response('"result":{"content":[]}'));
    expect(client.rounds).toEqual([1]);
  });

  test('of each round replace those before', async () => {
    const sink = client.call();
    asks(await exchange(0), ROOTS);
    await replies((await sink.message('roots/list')).id, '"result":{}').over();
    asks(await exchange(1), { s: { method: 'sampling/createMessage', params: {} } }, '"x":1');
    await replies((await sink.message('sampling/createMessage')).id, '"result":{"b":2}').over();
    const { params } = sentIn(await exchange(2));
    expect([params['inputResponses'], 'requestState' in params]).toEqual([{ s: { b: 2 } }, false]);
  });

  test('that the client answers with an error end the call with it', async () => {
    const sink = client.call();
    asks(await exchange(0), ROOTS);
    await replies((await sink.message('roots/list')).id, '"error":{"code":-1,"message":"no"}').over();
    await sink.over();
    expect(sink.messages.at(-1)).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } });
    expect([client.upstream.exchanges.length, client.rounds]).toEqual([1, [1]]);
  });

  test('are eight rounds at most', async () => {
    const sink = client.call();
    for (let round = 0; round < 8; round++) {
      asks(await exchange(round), ROOTS);
      await sink.until(() => sink.messages.length === round + 1);
      await replies(String(sink.messages[round]?.['id']), '"result":{}').over();
    }
    asks(await exchange(8), ROOTS);
    await sink.over();
    expect(sink.failure?.error).toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining('8 rounds'),
    });
    expect([client.upstream.exchanges.length, client.rounds]).toEqual([9, [8]]);
  });

  test('are waited for ten minutes at most', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    const limit = new AbortController();
    timeout.mockReturnValueOnce(limit.signal);
    // The tools were listed before.
    const before = client.call('t', {}, 7);
    (await exchange(0)).json().data(response('"result":{}', '7')).end();
    await before.over();
    timeout.mockReset().mockReturnValueOnce(limit.signal);
    const sink = client.call();
    asks(await exchange(1), ROOTS);
    const { id } = await sink.message('roots/list');
    expect(timeout).toHaveBeenCalledWith(600_000);
    limit.abort();
    await sink.over();
    expect(sink.failure?.error).toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining('600 seconds'),
    });
    expect(sink.messages.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } });
    timeout.mockRestore();
  });

  test('of which there are none are a pause of 250 ms', async () => {
    vi.useFakeTimers();
    client.call();
    const first = await exchange(0);
    asks(first, {});
    await vi.advanceTimersByTimeAsync(249);
    expect(client.upstream.exchanges).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(sentIn(await exchange(1)).params).toMatchObject({ requestState: 's', name: 't' });
    expect(sentIn(await exchange(1)).params).not.toHaveProperty('inputResponses');
  });

  test('leave progress where the client looks for it', async () => {
    const token = '9007199254740993';
    const sink = client.post(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":${token}}}}`,
    );
    const first = await exchange(0);
    expect(first.request.body?.text).toContain(`"progressToken":${token}`);
    asks(first, ROOTS);
    await replies((await sink.message('roots/list')).id, '"result":{}').over();
    const next = await exchange(1);
    const own = metaIn(next)['progressToken'];
    expect(own).toMatch(/^mcpa-/);
    const progress = (of: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${of}}}`;
    const frames = [JSON.stringify(own), '"another"'].map((of) => `data: ${progress(of)}\n\n`).join('');
    next.eventStream().data(`${frames}data: ${response('"result":{}')}\n\n`);
    await sink.over();
    expect(sink.texts.slice(1)).toEqual([progress(token), progress('"another"'), response('"result":{}')]);
  });

  test('that cannot be asked fail the call', async () => {
    const sink = client.call();
    asks(await exchange(0), Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`${i}`, ROOTS.r])));
    await sink.over();
    expect([sink.failure?.error, sink.texts]).toEqual([expect.objectContaining({ code: 'upstream_failed' }), []]);
  });

  test('count while they wait', async () => {
    const account = sampleAccount({ total: 300_000 });
    const holder = new Holder(account, { server: 's' });
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } };
    const sink = client.post(call, { holder });
    asks(await exchange(0), { r: { method: 'roots/list', params: { x: 'x'.repeat(100_000) } } });
    const { id } = await sink.message('roots/list');
    expect(account.held).toBeGreaterThan(100_000);
    await replies(id, '"result":{}').over();
    await exchange(1);
    expect(account.held).toBe(0);
    const other = client.post({ ...call, id: 2 }, { holder });
    const large = { r: { method: 'roots/list', params: { x: 'x'.repeat(300_000) } } };
    (await exchange(2))
      .eventStream()
      .data(
        `data: ${response(`"result":{"resultType":"input_required","inputRequests":${JSON.stringify(large)}}`, '2')}\n\n`,
      );
    await other.over();
    expect(other.failure?.error).toMatchObject({ code: 'overloaded' });
  });

  test('of one session are not answered by another', async () => {
    const sink = client.call();
    asks(await exchange(0), ROOTS);
    const { id } = await sink.message('roots/list');
    const mine = client.session;
    client.session = { ...mine, sessionId: 'b' };
    expect((await replies(id, '"result":{"of":"b"}').over()).head?.status).toBe(202);
    client.session = mine;
    await replies(id, '"result":{"of":"a"}').over();
    expect(sentIn(await exchange(1)).params['inputResponses']).toEqual({ r: { of: 'a' } });
  });
});

describe('what the client does not offer', () => {
  beforeEach(() => {
    client.session = { ...client.session, initializeParams: '{"capabilities":{}}' };
  });

  test('a model can read in the result of a tool', async () => {
    const sink = client.call();
    asks(await exchange(0), ROOTS);
    await sink.over();
    expect(sink.messages).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          isError: true,
          content: [{ type: 'text', text: 'This needs roots, which this client does not offer.' }],
        },
      },
    ]);
  });

  test('is an error of other methods, also where the server says it (-32021)', async () => {
    const sink = client.request('prompts/get', { name: 'p' });
    answers(await exchange(0), '"error":{"code":-32021,"data":{"requiredCapabilities":{"sampling":{}}}}', 400);
    await sink.over();
    expect(sink.messages[0]?.['error']).toEqual({
      code: -32603,
      message: 'This needs sampling, which this client does not offer.',
      data: { code: 'needs_client_capability', capability: 'sampling' },
    });
    expect(client.upstream.own).toEqual([]);
  });
});

describe('headers that do not match (-32020)', () => {
  const mismatch = '"error":{"code":-32020,"message":"Mcp-Param-Region"}';

  test('are those of the tools as they are now', async () => {
    const sink = client.call('t', { region: 'eu' });
    const first = await exchange(0);
    expect(first.request.headers).not.toContain('mcp-param-region');
    const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } };
    client.upstream.tools = [{ name: 't', inputSchema: { type: 'object', properties } }];
    answers(first, mismatch, 400);
    const again = await exchange(1);
    expect(again.request.headers.slice(-2)).toEqual(['mcp-param-region', 'eu']);
    answers(again, '"result":{"content":[]}');
    await sink.over();
    expect(sink.texts).toEqual([response('"result":{"content":[]}')]);
    expect(client.upstream.own).toEqual(['tools/list', 'tools/list']);
  });

  test('twice are a failure, and no error that the client does not know', async () => {
    const sink = client.call();
    for (const index of [0, 1]) answers(await exchange(index), mismatch, 400);
    await sink.over();
    expect(sink.failure?.error).toMatchObject({ code: 'upstream_failed', message: expect.stringContaining('-32020') });
    expect(client.upstream.exchanges).toHaveLength(2);
  });
});

describe('a server that may speak another revision now', () => {
  const refusals = [
    ['-32022', 400, response('"error":{"code":-32022,"message":"m"}')],
    ['no session', 400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}'],
    ['not found', 404, '<html>'],
  ] as const;

  test.for(refusals)('has lost its session where it does: %s', async ([, status, body]) => {
    const sink = client.call();
    client.upstream.discovery = undefined;
    (await exchange(0)).json(status).data(body).end();
    await sink.over();
    expect([sink.head?.status, sink.texts, client.upstream.own]).toEqual([404, [], ['tools/list', 'server/discover']]);
  });

  test('is believed where it does not', async () => {
    const sink = client.call();
    answers(await exchange(0), '"error":{"code":-32000,"message":"Busy"}', 400);
    await sink.over();
    expect(sink.messages).toEqual([JSON.parse(response('"error":{"code":-32000,"message":"Busy"}'))]);
    expect(client.upstream.own).toEqual(['tools/list', 'server/discover']);
  });

  test('that refuses the revision it says to speak fails', async () => {
    const sink = client.call();
    answers(await exchange(0), '"error":{"code":-32022,"message":"m"}', 400);
    await sink.over();
    expect(sink.failure?.error).toMatchObject({ code: 'upstream_failed', message: expect.stringContaining('-32022') });
  });

  test.for([-32601, -32602, -32603])('has said nothing of that: %d', async (code) => {
    const sink = client.call();
    answers(await exchange(0), `"error":{"code":${code}}`, 400);
    await sink.over();
    expect([sink.texts, client.upstream.own]).toEqual([[response(`"error":{"code":${code}}`)], ['tools/list']]);
  });

  test('in the second round ends the call', async () => {
    const sink = client.call();
    asks(await exchange(0), ROOTS);
    await replies((await sink.message('roots/list')).id, '"result":{}').over();
    client.upstream.discovery = undefined;
    answers(await exchange(1), '"error":{"code":-32022,"message":"m"}', 400);
    await sink.over();
    expect(sink.failure?.error).toMatchObject({ code: 'upstream_session_terminated' });
  });
});

describe('a call that is given up', () => {
  const cancel = (requestId = '1'): Promise<void> =>
    client.bus.publish({ type: 'cancelled', serverId: 's', sessionId: 'a', requestId });

  test('at any replica, is left at once, and its stream ends', async () => {
    const sink = client.call();
    const sent = await exchange(0);
    await cancel('2');
    await client.bus.publish({ type: 'cancelled', serverId: 's', sessionId: 'b', requestId: '1' });
    await client.bus.publish({ type: 'cancelled', serverId: 'other', sessionId: 'a', requestId: '1' });
    expect(sent.aborted).toBe(false);
    const told = cancel();
    expect(sent.aborted).toBe(true);
    await told;
    await sink.over();
    expect([sink.ended, sink.texts, sink.failure]).toEqual([true, [], undefined]);
  });

  test('by its client leaving, is over, and its questions with it', async () => {
    const sink = client.call();
    asks(await exchange(0), ROOTS);
    const { id } = await sink.message('roots/list');
    const over = client.over();
    sink.control?.abort();
    await over;
    await replies(id, '"result":{}').over();
    expect([sink.ended, sink.messages.length, client.upstream.exchanges.length]).toEqual([false, 1, 1]);
  });

  test('while a question is open, tells the client that nobody waits for the answer', async () => {
    const sink = client.call();
    asks(await exchange(0), ROOTS);
    const { id } = await sink.message('roots/list');
    await cancel();
    await sink.over();
    expect(sink.messages.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } });
    await replies(id, '"result":{}').over();
    expect(client.upstream.exchanges).toHaveLength(1);
  });

  test('between rounds is not sent again', async () => {
    vi.useFakeTimers();
    const sink = client.call();
    asks(await exchange(0), {});
    await vi.advanceTimersByTimeAsync(100);
    await cancel();
    await vi.advanceTimersByTimeAsync(1000);
    expect([client.upstream.exchanges.length, sink.ended]).toEqual([1, true]);
  });

  test('before it was sent is never sent', async () => {
    const body = parseBody(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}'));
    if ('code' in body) expect.unreachable();
    const sink = new ClientSink();
    sink.onStart = (control) => control.abort();
    client.older.send({ method: 'POST', session: client.session, headers: [], body }, sink);
    await Promise.resolve();
    expect([client.upstream.exchanges, client.upstream.own]).toEqual([[], []]);
  });
});

test('a call waits where its client does, in each round', async () => {
  const sink = client.call();
  const first = await exchange(0);
  sink.control?.pause();
  expect(first.paused).toBe(true);
  asks(first, ROOTS);
  await replies((await sink.message('roots/list')).id, '"result":{}').over();
  const next = await exchange(1);
  expect(next.paused).toBe(true);
  sink.control?.resume();
  expect(next.paused).toBe(false);
});
