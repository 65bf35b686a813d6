import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { parseBody, type Body } from '../exchange/message.ts';
import { sessionRecord } from './testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { sampleOperation } from '../steps/testing/step-scene.ts';
import { answerResult, type HttpUpstream, startHttpUpstream } from '../upstream/testing/http-upstream.ts';
import { detachCall, DetachedCalls } from '../artifacts/detached-calls.ts';
import { ownTasks, requireOwnTasks } from './session-tasks.ts';
import { type GatewayServer, startGatewayServer } from '../gateway/testing/gateway-server.ts';

const UNKNOWN = { code: -32602, message: 'Unknown task.', data: { code: 'unknown_task' } };

const made = (taskId: string) => ({ task: { taskId, status: 'working', ttl: 1 } });
const events = (message: unknown): string => `id: 1\ndata: ${JSON.stringify(message)}\n\n`;

describe('T1: tasks of an upstream that does not check whose they are', () => {
  let upstream: HttpUpstream;
  let server: GatewayServer;
  /** All tasks that there are. */
  let tasks: string[];

  beforeEach(async () => {
    tasks = [];
    upstream = await startHttpUpstream((request, res) => {
      const { id, method, params = {} } = request.message;
      if (request.method === 'GET') {
        tasks.push('resumed');
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        return void res.end(events({ jsonrpc: '2.0', id: 7, result: made('resumed') }));
      }
      if (id === undefined) return void res.writeHead(202).end();
      if (method === 'initialize') {
        const serverInfo = { name: 'u', version: '1' };
        const capabilities = { tools: {}, tasks: {} };
        const own = { 'mcp-session-id': `up-${upstream.requests.length}` };
        return answerResult(request, res, { protocolVersion: '2025-11-25', capabilities, serverInfo }, own);
      }
      if (method === 'tools/call') {
        const { name } = params as { name: string };
        tasks.push(name);
        if (!name.startsWith('streamed')) return answerResult(request, res, made(name));
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        return void res.end(events({ jsonrpc: '2.0', id, result: made(name) }));
      }
      if (method !== 'tasks/list') return answerResult(request, res, { status: 'working', of: params['taskId'] });
      const listed = tasks.map((taskId) => `{"taskId":"${taskId}", "size":1.0}`).join(' , ');
      const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tasks":[ ${listed} ],"nextCursor":"n"}}`;
      res.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
    server = await startGatewayServer(upstream.origin, { tool_metadata_sanitization: { mode: 'off' } });
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
    await upstream.close();
  });

  async function send(session: string | undefined, message: Record<string, unknown>): Promise<Response> {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const own = session === undefined ? {} : { 'mcp-session-id': session };
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    return fetch(server.url, { method: 'POST', headers: { ...headers, ...own }, body });
  }
  async function open(): Promise<string> {
    const clientInfo = { name: 'c', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const answer = await send(undefined, { id: 0, method: 'initialize', params });
    await answer.text();
    return answer.headers.get('mcp-session-id') ?? '';
  }
  const textOf = async (session: string, method: string, params: unknown = {}): Promise<string> =>
    (await send(session, { id: 1, method, params })).text();
  const ask = async (session: string, method: string, taskId: unknown): Promise<unknown> =>
    JSON.parse(await textOf(session, method, { taskId }));
  const run = (session: string, name: string): Promise<string> =>
    textOf(session, 'tools/call', { name, arguments: {}, task: { ttl: 1 } });

  test.each(['plain', 'streamed'])('are unknown to other sessions, as those that nobody has (%s)', async (name) => {
    const [mine, other] = [await open(), await open()];
    expect(await run(mine, name)).toContain(name);
    const count = upstream.requests.length;
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update']) {
      for (const id of [name, 'nobody’s', 5, undefined]) {
        expect(await ask(other, method, id)).toEqual({ jsonrpc: '2.0', id: 1, error: UNKNOWN });
      }
      await (await send(other, { method, params: { taskId: name } })).text();
    }
    expect(upstream.requests.length).toBe(count);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect(await ask(mine, method, name)).toMatchObject({ result: { of: name } });
    }
  });

  test('are listed for the session whose call made them', async () => {
    const [mine, other] = [await open(), await open()];
    await run(mine, 'a');
    await run(other, 'b');
    await run(mine, 'c');
    const list = (...all: string[]): string =>
      `{"jsonrpc":"2.0","id":1,"result":{"tasks":[${all.join(',')}],"nextCursor":"n"}}`;
    const shown = (taskId: string): string => `{"taskId":"${taskId}", "size":1.0}`;
    expect(await textOf(mine, 'tasks/list')).toBe(list(shown('a'), shown('c')));
    expect(await textOf(other, 'tasks/list', { cursor: 'n' })).toBe(list(shown('b')));
    expect(await textOf(await open(), 'tasks/list')).toBe(list());
  });

  test('may have the same ids in several sessions', async () => {
    const [mine, other] = [await open(), await open()];
    await run(mine, '1');
    await run(other, '1');
    for (const session of [mine, other]) {
      expect(await ask(session, 'tasks/get', '1')).toMatchObject({ result: { of: '1' } });
    }
  });

  test('are known when the answer to their call was taken up on another stream', async () => {
    const [mine, other] = [await open(), await open()];
    const headers = { accept: 'text/event-stream', 'mcp-session-id': mine, 'last-event-id': '0' };
    expect(await (await fetch(server.url, { headers })).text()).toContain('resumed');
    expect(await ask(mine, 'tasks/get', 'resumed')).toMatchObject({ result: { of: 'resumed' } });
    expect(await ask(other, 'tasks/get', 'resumed')).toMatchObject({ error: UNKNOWN });
  });
});

const session = { serverId: 'up', sessionId: 's' };
const body = (message: Record<string, unknown>): Body => {
  const parsed = parseBody(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
};
const ABOUT_A = body({ method: 'tasks/get', params: { taskId: 'a' } });

test('a task is remembered when the step of its call takes the answer up elsewhere', async () => {
  const store = new MemoryStore();
  const taken = { onResponse: async (text: string) => text, onEnd: async () => undefined };
  const steps = new Map([['x', { resume: () => taken }]]);
  await detachCall(store, session, '1', { tool: 'x' }, 60_000);
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result: made('a') });
  const operation = sampleOperation(undefined);
  operation.record = sessionRecord(session);
  expect(await new DetachedCalls(operation, steps, store).answer(text)).toBe(text);
  await expect(requireOwnTasks(store, session, ABOUT_A.messages)).resolves.toBeUndefined();
});

test('a task is known for a day after it was asked for last', async () => {
  let now = 1_000;
  const store = { now: () => now, firstTexts: new MemoryStore().firstTexts };
  await ownTasks(store, session, JSON.stringify({ result: made('a') }));
  for (let i = 0; i < 2; i++) {
    now += 86_399_999;
    await requireOwnTasks(store, session, ABOUT_A.messages);
  }
  now += 86_400_000;
  await expect(requireOwnTasks(store, session, ABOUT_A.messages)).rejects.toMatchObject({ code: 'unknown_task' });
});

test('T1: a store that is away makes no task known', async () => {
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  const store = { now: () => 0, firstTexts: { find: away, keep: away } };
  await expect(requireOwnTasks(store, session, ABOUT_A.messages)).rejects.toThrow('away');
  const list = '{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"a"}]}}';
  await expect(ownTasks(store, session, list)).rejects.toThrow('away');
});
