import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { knownError } from '../errors.ts';
import { SESSIONLESS_REVISION, type Request } from '../exchange/message.ts';
import { type FakeExchange, FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import { askUpstream } from '../mount/ask-upstream.ts';
import { nestedCall } from '../code-mode/nested-call.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';
import type { ResponseSink, UpstreamRequest } from '../exchange/upstream.ts';
import { messages } from '../path/messages.ts';
import type { Operation } from '../path/operation.ts';
import type { Send } from '../path/step.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import type { ControlMessage } from '../state/message-bus.ts';
import { bodyOf, sampleCaller, sampleClient } from '../steps/testing/step-scene.ts';
import { MemoryCaller } from './memory-caller.ts';

/** A message as it came to the steps, and what is asked of the upstream for it. */
interface Posted {
  readonly operation: Operation;
  readonly way: 'session' | 'sessionCall' | 'sessionlessCall';
  readonly message: {
    readonly id?: unknown;
    readonly method: string;
    readonly params: Record<string, unknown>;
  };
}

const never = new AbortController().signal;
const HEADERS = { authorization: 'Bearer x', 'mcp-session-id': 's', 'mcp-param-old': 'x' };
const META = { progressToken: 7, 'io.modelcontextprotocol/protocolVersion': SESSIONLESS_REVISION };

/** Answers everything as `answer` does. */
class AnsweringUpstream extends FakeUpstream {
  readonly #answer: (exchange: FakeExchange) => unknown;

  constructor(answer: (exchange: FakeExchange) => unknown) {
    super();
    this.#answer = answer;
  }

  override send(request: UpstreamRequest, sink: ResponseSink): void {
    super.send(request, sink);
    this.#answer(this.last);
  }
}

/** A call of `execute`, whose own calls are answered so. */
function scene(answer: (exchange: FakeExchange, posted: Posted) => unknown, isSessionless = false) {
  const posted: Posted[] = [];
  const told: ControlMessage[] = [];
  const upstream = new AnsweringUpstream((exchange) => answer(exchange, posted.at(-1) as Posted));
  const mount = sampleMount({}, { upstream });
  const client = sampleClient(mount);
  const asked = messages({ dropped: () => undefined, refused: () => undefined }, askUpstream(mount));
  const send =
    (way: Posted['way']): Send =>
    (operation, reply) => {
      const message = JSON.parse(operation.body.text) as Posted['message'];
      posted.push({ operation, way, message });
      operation.record = record;
      asked(operation, reply);
    };
  const declared = [
    { header: 'mcp-param-region', path: ['region'] },
    { header: 'mcp-param-count', path: ['n', 'count'] },
    { header: 'mcp-param-on', path: ['on'] },
  ];
  const caller = new MemoryCaller(
    mount,
    client,
    { session: send('session'), sessionCall: send('sessionCall'), sessionlessCall: send('sessionlessCall') },
    {
      toolParameters: { of: async () => declared },
      bus: { publish: async (message) => void told.push(message) },
      tracing: undefined,
      known: (error) => knownError(error, () => undefined),
      hashArguments: undefined,
    },
  );
  const outerCaller = sampleCaller({ headers: HEADERS, principal: 'p', request: { protocol: 'http', host: 'h' } });
  const body = bodyOf({
    id: 1,
    method: 'tools/call',
    params: { name: 's1_execute', arguments: { code: '' }, _meta: META },
  });
  const record = sessionRecord(
    isSessionless ? { protocolVersion: SESSIONLESS_REVISION, sessionId: '0'.repeat(32) } : {},
  );
  const call: ToolCall = {
    caller: outerCaller,
    trace: undefined,
    signal: never,
    source: client.source({ caller: outerCaller, trace: undefined }, { signal: never, afterwards: () => {} }),
    tools: () => Promise.reject(new Error('not asked for')),
    record,
    body,
    request: body.messages[0] as Request,
    tool: 's1_execute',
    timeoutMs: null,
  };
  const run = async (args: Record<string, unknown> = {}, signal = never): Promise<unknown> => {
    const nested = { tool: 'tool', args, attributes: { requestId: 'r' }, bytes: 0 };
    const callTool: Parameters<typeof nestedCall>[0] = (...one) => caller.call(...one);
    return JSON.parse(await nestedCall(callTool, call, nested, signal)) as unknown;
  };
  return { call, posted, told, upstream, run };
}

const message = (id: unknown, rest: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...rest });
const json =
  (rest: object, status = 200) =>
  (exchange: FakeExchange, posted: Posted): void =>
    exchange.json(status).data(message(posted.message.id, rest)).end();
const result = (of: object) => json({ result: of });
const text = (value: string) => ({ type: 'text', text: value });

describe('what code gets of a call', () => {
  test('is its result, in the form in which code can use it', async () => {
    const at = scene(result({ content: [text('a')], structuredContent: { n: 1 } }));
    expect(await at.run()).toEqual({
      text: 'a',
      structuredContent: { n: 1 },
      content: [text('a')],
      artifacts: [],
    });
  });

  test.each<[string, Parameters<typeof scene>[0], string]>([
    ['an error of the protocol', json({ error: { code: -1, message: 'went wrong' } }), 'went wrong'],
    ['a refusal', json({ error: { code: 503, message: 'unhealthy' } }, 503), 'unhealthy'],
    ['a refusal that is no message', (exchange) => exchange.json(401).data('{"error":"x"}').end(), 'The call failed.'],
    ['an answer that is none', (exchange) => exchange.json().data('{').end(), 'JSON'],
    ['an answer without end', (exchange) => exchange.json().fail(true), 'failed to answer'],
    ['no answer', (exchange) => exchange.fail(false), 'could not be reached'],
  ])('is an error where there is %s', async (_what, answer, says) => {
    await expect(scene(answer).run()).rejects.toThrow(says);
  });

  test('comes from a stream, on which the client hears the rest', async () => {
    const notice = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
    const at = scene((exchange, { message: { id } }) => {
      exchange.eventStream({ 'content-type': 'text/event-stream; charset=utf-8' });
      exchange.data(': hello\n\nid: 1\ndata:\n\n');
      // Nobody has asked for these: they would reach the client unseen.
      exchange.data(`data: ${message('x', { result: { content: [] } })}\n\ndata: 7\n\ndata: null\n\n`);
      const events = `data: ${notice}\n\nevent: message\ndata: ${message(id, { result: { content: [] } })}\n\n`;
      exchange.data(events.slice(0, 30));
      exchange.data(events.slice(30));
      // The stream stays open.
    });
    expect(await at.run()).toMatchObject({ text: '' });
    expect(at.told).toEqual([{ type: 'notify', serverId: 's1', sessionId: at.call.record.sessionId, text: notice }]);
    await nextTurn();
    expect(at.upstream.last.aborted).toBe(true);
  });

  test('comes without what the client would hear of it, where that has no session', async () => {
    const notice = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
    const at = scene((exchange, { message: { id } }) => {
      exchange.eventStream().data(`data: ${notice}\n\ndata: ${message(id, { result: { content: [] } })}\n\n`);
    }, true);
    expect(await at.run()).toMatchObject({ text: '' });
    expect(at.told).toEqual([]);
  });

  test('is an error where a stream ends without it', async () => {
    const at = scene((exchange) => exchange.eventStream().data('data: {"id":9}\n\n').end());
    await expect(at.run()).rejects.toThrow('failed to answer');
  });

  test.each(['application/json', 'text/event-stream'])('is no more than code can use: %s', async (type) => {
    const at = scene((exchange, { message: { id } }) => {
      exchange.head(200, { 'content-type': type });
      const whole = message(id, { result: { content: [text('x'.repeat(5 << 20))] } });
      exchange.data(type === 'application/json' ? whole : `data: ${whole}\n\n`);
      if (type === 'application/json') exchange.end();
    });
    await expect(at.run()).rejects.toThrow(/larger than \d+ MiB/);
    await nextTurn();
    // The other one was over already.
    if (type === 'text/event-stream') expect(at.upstream.last.aborted).toBe(true);
  });

  test('is not kept where it is more than the adapter reads', async () => {
    const at = scene((exchange) => {
      exchange.json();
      for (let i = 0; i <= 64; i++) exchange.data(Buffer.alloc(1 << 20, 'x'));
    });
    await expect(at.run()).rejects.toThrow('The answer of the upstream server is too large.');
    expect(at.upstream.last.aborted).toBe(true);
  });

  test('comes whole, however large the parts in which it is written', async () => {
    const at = scene(async (exchange, { message: { id } }) => {
      exchange.json();
      const whole = message(id, { result: { content: [text('x'.repeat(500_000))] } });
      for (let i = 0; i < whole.length; i += 100_000) {
        exchange.data(whole.slice(i, i + 100_000));
        await nextTurn();
      }
      exchange.end();
    });
    expect(await at.run()).toMatchObject({ text: 'x'.repeat(500_000) });
  });
});

describe('a call that code makes', () => {
  test('is one of the same client, under an id that no client uses', async () => {
    const at = scene(result({ content: [] }));
    await Promise.all([at.run({ a: 1 }), at.run()]);
    const [first, second] = at.posted;
    expect(first?.operation.caller).toMatchObject({
      headers: HEADERS,
      principal: 'p',
      request: { host: 'h' },
      attributes: { requestId: 'r' },
    });
    expect([first?.way, first?.operation.isSessionless]).toEqual(['sessionCall', false]);
    expect(first?.message.params).toEqual({ name: 'tool', arguments: { a: 1 } });
    expect(first?.message.id).toMatch(/^mcpa-code-/);
    expect(second?.message.id).not.toBe(first?.message.id);
  });

  test('without a session says who asks, and repeats its arguments in the headers that its tool declares', async () => {
    const at = scene(result({ content: [], resultType: 'complete' }), true);
    await at.run({ region: 'Zürich', n: { count: 7 }, on: false });
    const [first] = at.posted;
    expect([first?.way, first?.operation.isSessionless]).toEqual(['sessionlessCall', true]);
    expect(first?.message.params['_meta']).toEqual({ 'io.modelcontextprotocol/protocolVersion': SESSIONLESS_REVISION });
    expect(first?.operation.caller.headers).toEqual({
      authorization: 'Bearer x',
      'mcp-session-id': 's',
      'mcp-name': 'tool',
      'mcp-param-region': '=?base64?WsO8cmljaA==?=',
      'mcp-param-count': '7',
      'mcp-param-on': 'false',
    });
  });

  test.each([false, true])('is cancelled when the code ends: without a session %s', async (isSessionless) => {
    const ending = new AbortController();
    const at = scene((exchange, { message: { method } }) => {
      if (method === 'notifications/cancelled') exchange.head(202).end();
      else queueMicrotask(() => ending.abort());
    }, isSessionless);
    await expect(at.run({}, ending.signal)).rejects.toThrow('The call was aborted.');
    expect(at.upstream.exchanges[0]?.aborted).toBe(true);
    const cancelled = at.posted.slice(1).map(({ message: { method, params } }) => [method, params]);
    // Without a session, to be gone is to cancel.
    expect(cancelled).toEqual(
      isSessionless
        ? []
        : [['notifications/cancelled', { requestId: at.posted[0]?.message.id, reason: expect.any(String) }]],
    );
    expect(at.posted[0]?.operation.caller.attributes.outcome).toBe('client_closed');
  });

  test('is not even begun when the code has ended', async () => {
    const at = scene(result({ content: [] }));
    await expect(at.run({}, AbortSignal.abort())).rejects.toThrow('The call was aborted.');
    expect(at.posted).toEqual([]);
  });

  // In a session nothing is waited for before it is sent.
  test.each([0, 1])('is not sent when the code ends just before that: after %d microtasks', async (turns) => {
    const ending = new AbortController();
    const at = scene(result({ content: [] }), true);
    const answer = at.run({}, ending.signal);
    for (let i = 0; i < turns; i++) await Promise.resolve();
    ending.abort();
    await expect(answer).rejects.toThrow('The call was aborted.');
    await nextTurn();
    expect(at.posted).toEqual([]);
  });
});
