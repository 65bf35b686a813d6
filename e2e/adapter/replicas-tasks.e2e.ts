import { expect, test } from 'vitest';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { mounted, startDeployment } from './kit/deployment.ts';
import { openSession } from './kit/session.ts';

interface Message {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: { readonly taskId?: string };
}

/** A server that gives any task to who knows its id. */
function unchecked(): (message: Message) => object {
  const tasks: { taskId: string; status: string }[] = [];
  const answers: Record<string, (taskId: string | undefined) => object> = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name: 'u', version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
    'tools/call': () => {
      const task = { taskId: `task-${tasks.length}`, status: 'working' };
      tasks.push(task);
      return { task };
    },
    'tasks/list': () => ({ tasks }),
    'tasks/result': (taskId) => ({ content: [{ type: 'text', text: `secret of ${taskId}` }] }),
  };
  return ({ method, params }) => answers[method]?.(params?.taskId) ?? { taskId: params?.taskId, status: 'working' };
}

test('T1: a task is its session’s on any replica, and nobody else’s where the upstream does not check', async () => {
  const resultOf = unchecked();
  await using upstream = await startRawUpstream(({ method, json }, res) => {
    const message = json as Message;
    if (method !== 'POST' || message.id === undefined) {
      res.writeHead(method === 'POST' ? 202 : 405).end();
      return;
    }
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) }));
  });
  await using deployment = await startDeployment({ config: { servers: [mounted('up', `${upstream.url}/mcp`)] } });
  const { a, b } = deployment;
  const [mine, other] = [await openSession(a), await openSession(b)];
  for (const [session, place] of [
    [mine, a],
    [other, b],
  ] as const) {
    await session.at(place).call('tools/call', { name: 'work', arguments: {}, task: { ttl: 60_000 } });
  }

  for (const place of [a, b]) {
    const [own, foreign] = [mine.at(place), other.at(place)];
    expect(await own.call('tasks/list')).toMatchObject({ result: { tasks: [{ taskId: 'task-0' }] } });
    expect(await foreign.call('tasks/list')).toMatchObject({ result: { tasks: [{ taskId: 'task-1' }] } });
    expect(await own.call('tasks/result', { taskId: 'task-0' })).toMatchObject({
      result: { content: [{ text: 'secret of task-0' }] },
    });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const [asked, unknown] = [
        await foreign.call(method, { taskId: 'task-0' }),
        await foreign.call(method, { taskId: 'x' }),
      ];
      expect(asked.error).toEqual({ code: -32602, message: 'Unknown task.', data: { code: 'unknown_task' } });
      expect(unknown.error).toEqual(asked.error);
    }
  }
  const sent = upstream.requests.map(({ json }) => json as { method?: string } | undefined);
  expect(sent.filter((message) => message?.method === 'tasks/cancel' || message?.method === 'tasks/get')).toEqual([]);
}, 30_000);
