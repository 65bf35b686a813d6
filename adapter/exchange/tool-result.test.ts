import { expect, test } from 'vitest';

import { taskIn, toolResultIn } from './tool-result.ts';

const message = (result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result });

test.each([
  [message({ content: [] }), '{"content":[]}'],
  [message({ taskId: 't', status: 'completed', result: { content: [1] } }), '{"content":[1]}'],
  [message({ taskId: 't', status: 'working' }), undefined],
  [message({ taskId: 't', status: 'failed', result: 'x' }), undefined],
  ['{"jsonrpc":"2.0","id":1,"error":{}}', undefined],
])('of %s the result is %s', (text, expected) => {
  const span = toolResultIn(text);
  expect(span && text.slice(span.start, span.end)).toBe(expected);
});

test.each([
  [message({ task: { taskId: 't', ttl: 5 } }), { taskId: 't', ttlMs: 5 }],
  [message({ task: { taskId: 't', ttl: null } }), { taskId: 't', ttlMs: undefined }],
  [message({ resultType: 'task', taskId: 't', ttlMs: 7, status: 'working' }), { taskId: 't', ttlMs: 7 }],
  [message({ resultType: 'complete', taskId: 't' }), undefined],
  [message({ task: { taskId: 5 } }), undefined],
  [message({ task: 'x' }), undefined],
  ['{"error":{}}', undefined],
])('%s brings the task %j', (text, expected) => {
  expect(taskIn(text)).toEqual(expected);
});
