import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { type Body, MODERN_REVISION, parseBody } from '../exchange/message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import type { ControlMessage } from '../state/message-bus.ts';
import { toolCall } from './call-tool.ts';
import type { Incoming } from './incoming.ts';
import { nestedCall, type Post } from './nested-call.ts';
import type { ToolCall } from './turn.ts';
import { sampleMount } from './testing/sample-mount.ts';

/** A message as the gateway got it. */
interface Posted {
  readonly incoming: Incoming;
  readonly message: {
    readonly id?: unknown;
    readonly method: string;
    readonly params: Record<string, unknown>;
  };
}

interface Scene {
  readonly call: ToolCall;
  readonly posted: Posted[];
  readonly told: ControlMessage[];
  readonly run: (args?: Record<string, unknown>, signal?: AbortSignal) => Promise<unknown>;
}

const never = new AbortController().signal;
const HEADERS = { authorization: 'Bearer x', 'mcp-session-id': 's', 'mcp-param-old': 'x' };
const META = { progressToken: 7, 'io.modelcontextprotocol/protocolVersion': MODERN_REVISION };

/** A call of `execute`, whose own calls are answered so. */
function scene(answer: (reply: ServerResponse, posted: Posted) => unknown, isModern = false): Scene {
  const posted: Posted[] = [];
  const told: ControlMessage[] = [];
  const post: Post = async (_mount, incoming, bytes) => {
    const one = { incoming, message: JSON.parse(bytes.toString()) as Posted['message'] };
    posted.push(one);
    await answer(incoming.reply, one);
  };
  const declared = [
    { header: 'mcp-param-region', path: ['region'] },
    { header: 'mcp-param-count', path: ['n', 'count'] },
    { header: 'mcp-param-on', path: ['on'] },
  ];
  const parts = {
    bus: { publish: async (message: ControlMessage) => void told.push(message) },
    known: (error: unknown) => error,
    toolParameters: { of: async () => declared },
  };
  const incoming = {
    headers: HEADERS,
    principal: 'p',
    facts: { requestId: 'r' },
    request: { protocol: 'http', host: 'h' },
  };
  const turn = { parts, mount: sampleMount(), incoming } as unknown as ToolCall['turn'];
  const params = { name: 's1_execute', arguments: { code: '' }, _meta: META };
  const body = parseBody(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))) as Body;
  const record = sessionRecord(isModern ? { protocolVersion: MODERN_REVISION, sessionId: '0'.repeat(32) } : {});
  const call = toolCall({ turn, record, body, timeoutMs: null });
  const run: Scene['run'] = async (args = {}, signal = never) =>
    JSON.parse(
      await nestedCall(post, call, { tool: 'tool', args, facts: { requestId: 'r' }, bytes: 0 }, signal),
    ) as unknown;
  return { call, posted, told, run };
}

const message = (id: unknown, rest: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...rest });
const json =
  (rest: object, status = 200) =>
  (reply: ServerResponse, posted: Posted): void => {
    reply.writeHead(status, { 'content-type': 'application/json' });
    reply.end(message(posted.message.id, rest));
  };
const result = (of: object) => json({ result: of });
const text = (value: string) => ({ type: 'text', text: value });

describe('what code gets of a call', () => {
  test('is its result, in the form in which code can use it', async () => {
    const at = scene(
      result({
        content: [text('a'), { type: 'image', data: 'x' }, text('b')],
        structuredContent: { n: 1 },
        _meta: { m: 2 },
      }),
    );
    expect(await at.run()).toEqual({
      text: 'a\nb',
      structuredContent: { n: 1 },
      content: [text('a'), { type: 'image', data: 'x' }, text('b')],
      artifacts: [],
      _meta: { m: 2 },
    });
  });

  test('names the files that came of it', async () => {
    const artifact = { artifact_uri: 'artifact://a' };
    const at = scene(result({ content: [], _meta: { artifact } }));
    expect(await at.run()).toMatchObject({ artifacts: [artifact], _meta: { artifact } });
  });

  test.each([
    ['an error of the protocol', json({ error: { code: -1, message: 'went wrong' } }), 'went wrong'],
    ['a refusal', json({ error: { code: 503, message: 'unhealthy' } }, 503), 'unhealthy'],
    [
      'a page that the user has to open',
      json({
        error: {
          code: -32042,
          message: 'open',
          data: { elicitations: [null, { url: 'http://a' }, { url: 'http://b' }] },
        },
      }),
      'open\nhttp://a\nhttp://b',
    ],
    ['an error without words', json({ error: {} }), 'The call failed.'],
    ['an error of the tool', result({ content: [text('bad'), text('luck')], isError: true }), 'bad\nluck'],
    ['an error of the tool that says nothing', result({ isError: true }), 'does not say why'],
    ['a question to the user', result({ resultType: 'input_required' }), 'called directly'],
    ['an answer that is none', (reply: ServerResponse) => void reply.writeHead(200).end('{'), 'JSON'],
    ['an answer without end', (reply: ServerResponse) => void reply.writeHead(200).destroy(), 'broke off'],
    ['no answer', (reply: ServerResponse) => void reply.destroy(), 'broke off'],
  ])('is an error where there is %s', async (_what, answer, says) => {
    await expect(scene(answer).run()).rejects.toThrow(says);
  });

  test('keeps code and data of an error of the protocol as they were written', async () => {
    const error = { code: -32_042, message: 'open', data: { elicitations: [{ url: 'http://a' }] } };
    await expect(scene(json({ error })).run()).rejects.toMatchObject({
      code: '-32042',
      data: JSON.stringify(error.data),
    });
    await expect(scene(json({ error: { message: 'no' } })).run()).rejects.toMatchObject({
      code: undefined,
      data: undefined,
    });
    await expect(scene(json({ error: [1] as never })).run()).rejects.toMatchObject({ code: undefined });
  });

  test('keeps texts with all that they escape, and blocks as they came', async () => {
    const texts = ['a "quoted" \\ \n\u2028 \ud800', '', 'Grüße 🌍'];
    const [first, second] = await Promise.all([
      scene(result({ content: texts.map((one) => text(one)) })).run(),
      // Members in another order, twice, and between others.
      scene((reply, { message: { id } }) => {
        reply.writeHead(200, { 'content-type': 'application/json' });
        const block = String.raw`{"text":"no","a":{"text":[]},"text":"\u00e4\/","type":"text"}`;
        const other = '{"type":"image","text":"not this","n":12345678901234567890}';
        reply.end(`{"result":{"_meta":{},"content":[${other}, ${block} ]},"id":"${String(id)}"}`);
      }).run(),
    ]);
    expect(first).toMatchObject({ text: texts.join('\n'), content: texts.map((one) => text(one)) });
    expect(second).toMatchObject({ text: 'ä/', content: [{ text: 'not this' }, { text: 'ä/' }] });
  });

  test.each(['null', '7', '[]', '{"result":null}', '{"result":7}'])(
    'is an error of a message such as %s',
    async (body) => {
      const at = scene((reply) => reply.writeHead(200, { 'content-type': 'application/json' }).end(body));
      await expect(at.run()).rejects.toThrow('The call failed.');
    },
  );

  test.each([{}, { content: null }, { content: 'x' }, { content: [null, 7, { type: 'text' }] }])(
    'is something also of a result as strange as %j',
    async (strange) => {
      expect(await scene(result(strange)).run()).toMatchObject({ artifacts: [] });
    },
  );

  test('comes from a stream, on which the client hears the rest', async () => {
    const notice = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
    const at = scene((reply, { message: { id } }) => {
      reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      reply.write(': hello\n\nid: 1\ndata:\n\n');
      // Nobody has asked for these: they would reach the client unseen.
      reply.write(`data: ${message('x', { result: { content: [] } })}\n\ndata: 7\n\ndata: null\n\n`);
      const text = `data: ${notice}\n\nevent: message\ndata: ${message(id, { result: { content: [] } })}\n\n`;
      reply.write(text.slice(0, 30));
      reply.write(text.slice(30));
      // The stream stays open.
    });
    expect(await at.run()).toMatchObject({ text: '' });
    expect(at.told).toEqual([{ type: 'notify', serverId: 's1', sessionId: at.call.record.sessionId, text: notice }]);
    await nextTurn();
    expect(at.posted[0]?.incoming.reply.destroyed).toBe(true);
  });

  test('is an error where a stream ends without it', async () => {
    const at = scene(
      (reply) => void reply.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"id":9}\n\n'),
    );
    await expect(at.run()).rejects.toThrow('without a result');
  });

  test.each(['application/json', 'text/event-stream'])('is no more than code can use: %s', async (type) => {
    let isDestroyed = (): boolean => false;
    const at = scene((reply) => {
      isDestroyed = () => reply.destroyed;
      reply.writeHead(200, { 'content-type': type });
      for (let i = 0; i < 64; i++) reply.write(Buffer.alloc(1 << 20, 'x'));
    });
    await expect(at.run()).rejects.toThrow(/larger than \d+ MiB/);
    expect(isDestroyed()).toBe(true);
  });

  test('comes whole, however large the parts in which it is written', async () => {
    const at = scene(async (reply, { message: { id } }) => {
      reply.writeHead(200, { 'content-type': 'application/json' });
      // What answers that are streamed do, to notice clients that take nothing.
      reply.socket?.setTimeout(1_000);
      const whole = message(id, { result: { content: [text('x'.repeat(500_000))] } });
      for (let i = 0; i < whole.length; i += 100_000) {
        if (!reply.write(whole.slice(i, i + 100_000))) await new Promise((resolve) => reply.once('drain', resolve));
      }
      reply.end();
    });
    expect(await at.run()).toMatchObject({ text: 'x'.repeat(500_000) });
  });
});

describe('a call that code makes', () => {
  test('is one of the same client, under an id that no client uses', async () => {
    const at = scene(result({ content: [] }));
    await Promise.all([at.run({ a: 1 }), at.run()]);
    const [first, second] = at.posted;
    expect(first?.incoming).toMatchObject({
      headers: HEADERS,
      principal: 'p',
      request: { host: 'h' },
      facts: { requestId: 'r' },
    });
    expect(first?.message.params).toEqual({ name: 'tool', arguments: { a: 1 } });
    expect(first?.message.id).toMatch(/^mcpa-code-/);
    expect(second?.message.id).not.toBe(first?.message.id);
  });

  test('without a session says who asks, and repeats its arguments in the headers that its tool declares', async () => {
    const at = scene(result({ content: [], resultType: 'complete' }), true);
    await at.run({ region: 'Zürich', n: { count: 7 }, on: false });
    const [first] = at.posted;
    expect(first?.message.params['_meta']).toEqual({ 'io.modelcontextprotocol/protocolVersion': MODERN_REVISION });
    expect(first?.incoming.headers).toEqual({
      authorization: 'Bearer x',
      'mcp-session-id': 's',
      'mcp-name': 'tool',
      'mcp-param-region': '=?base64?WsO8cmljaA==?=',
      'mcp-param-count': '7',
      'mcp-param-on': 'false',
    });
  });

  test.each([false, true])('is cancelled when the code ends: without a session %s', async (isModern) => {
    const ending = new AbortController();
    const at = scene((reply, { message: { method } }) => {
      if (method === 'notifications/cancelled') reply.writeHead(202).end();
      else queueMicrotask(() => ending.abort());
    }, isModern);
    await expect(at.run({}, ending.signal)).rejects.toThrow('The call was aborted.');
    expect(at.posted[0]?.incoming.reply.destroyed).toBe(true);
    const cancelled = at.posted.slice(1).map(({ message: { method, params } }) => [method, params]);
    // Without a session, to be gone is to cancel.
    expect(cancelled).toEqual(
      isModern
        ? []
        : [['notifications/cancelled', { requestId: at.posted[0]?.message.id, reason: expect.any(String) }]],
    );
  });

  test('is not even begun when the code has ended', async () => {
    const at = scene(result({ content: [] }));
    await expect(at.run({}, AbortSignal.abort())).rejects.toThrow('The call was aborted.');
    expect(at.posted).toEqual([]);
  });

  test.each([0, 1])('is not sent when the code ends just before that: after %d microtasks', async (turns) => {
    const ending = new AbortController();
    const at = scene(result({ content: [] }));
    const answer = at.run({}, ending.signal);
    for (let i = 0; i < turns; i++) await Promise.resolve();
    ending.abort();
    await expect(answer).rejects.toThrow('The call was aborted.');
    await nextTurn();
    expect(at.posted).toEqual([]);
  });
});
