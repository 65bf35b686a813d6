import { expect, test } from 'vitest';

import { FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import { sends } from '../gateway/paths.ts';
import { requireOwnTasks } from '../sessions/session-tasks.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { samplePaths } from '../gateway/testing/sample-paths.ts';
import type { ToolStep } from '../tools/visible/tool-step.ts';
import { ReplyMessage } from '../path/reply-message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { OwnTasks } from './own-tasks.ts';
import { bodyOf, RecordingReply, refusal, sampleOperation, through } from './testing/step-scene.ts';

const session = sessionRecord();
const made = (taskId: string) => ({ task: { taskId, status: 'working', ttl: 1 } });
const ABOUT_A = { id: 1, method: 'tasks/get', params: { taskId: 'a' } };
const operationOf = (message: object) => {
  const operation = sampleOperation(message);
  operation.record = session;
  return operation;
};

test('a task is remembered before the step of its call sees the answer', async () => {
  const upstream = new FakeUpstream();
  const onResponse = async (text: string): Promise<string> => {
    await requireOwnTasks(at.store, session, bodyOf(ABOUT_A).messages);
    return `${text} `;
  };
  const step: ToolStep = { needsHome: false, prepare: async ({ body }) => ({ kind: 'forward', body, onResponse }) };
  const additions = { steps: new Map([['x', step]]), transforms: new Map(), own: [], resources: undefined };
  const mount = sampleMount({ tool_metadata_sanitization: { mode: 'off' } }, { upstream, additions });
  using at = samplePaths(mount);
  await at.store.open(session);
  const headers = { 'mcp-session-id': session.sessionId };
  const call = { id: 1, method: 'tools/call', params: { name: 'x', task: {} } };
  const reply = new RecordingReply();
  sends(mount, at.paths).sessionCall(sampleOperation(call, { caller: { headers } }), reply);
  while (upstream.exchanges.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result: made('a') });
  upstream.last.json().data(text).end();
  await reply.ended;
  expect(reply.told).toEqual(['start', 'head 200', `${text} `, 'end ok']);
});

test('answers to other requests are nobody’s business', async () => {
  for (const message of [
    { id: 1, method: 'tools/call', params: { name: 'x' } },
    { id: 1, method: 'tools/list' },
    { id: 1, method: 'ping' },
  ]) {
    const reply = new RecordingReply();
    expect((await through(new OwnTasks(new MemoryStore()), operationOf(message), reply)).reply).toBe(reply);
  }
});

test('what is asked about tasks of others does not pass', async () => {
  const store = new MemoryStore();
  const step = new OwnTasks(store);
  expect(await refusal(step, operationOf(ABOUT_A))).toMatchObject({ code: 'unknown_task' });
  const call = { id: 1, method: 'tools/call', params: { name: 'x', task: {} } };
  const { reply } = await through(step, operationOf(call));
  await reply.message(new ReplyMessage('response', JSON.stringify({ jsonrpc: '2.0', id: 1, result: made('a') })));
  await through(step, operationOf(ABOUT_A));
});

test('without a session, where callers are known, a method that is gone is unknown, whoever has the task', async () => {
  const about = (method: string) =>
    sampleOperation({ id: 1, method, params: { taskId: 'a' } }, { isSessionless: true, caller: { principal: 'p' } });
  const step = new OwnTasks(new MemoryStore());
  expect(await refusal(step, about('tasks/result'))).toMatchObject({ code: 'unknown_method' });
  expect(await refusal(step, about('tasks/get'))).toMatchObject({ code: 'unknown_task' });
});
