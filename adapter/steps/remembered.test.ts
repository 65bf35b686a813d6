import { expect, test } from 'vitest';

import { ReplyMessage } from '../path/reply-message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { Remembered } from './remembered.ts';
import { RecordingReply, sampleOperation, through } from './testing/step-scene.ts';

const SET_LEVEL = { id: 1, method: 'logging/setLevel', params: { level: 'error' } };
const record = sessionRecord();

function operationOf(message: object) {
  const operation = sampleOperation(message);
  operation.record = record;
  return operation;
}

test('what a new upstream session would have to be told is kept before the client has its answer', async () => {
  const store = new MemoryStore();
  await store.open(record);
  const level = async (): Promise<unknown> => {
    const found = await store.find(record, { principal: '', now: 0 });
    return found.state === 'active' ? found.record.logLevel : found.state;
  };
  const { reply } = await through(new Remembered(store), operationOf(SET_LEVEL));
  expect(reply.reads).toBe(true);
  await reply.message(new ReplyMessage('other', '{"method":"notifications/message"}'));
  await reply.message(new ReplyMessage('response', '{"id":1,"error":{}}'));
  expect(await level()).toBeNull();
  await reply.message(new ReplyMessage('response', '{"id":1,"result":{}}'));
  expect(await level()).toBe('{"level":"error"}');
});

test('the client hears that it could not be kept', async () => {
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  const step = new Remembered({ setLogLevel: away, setSubscription: away });
  const own = new RecordingReply();
  const { reply } = await through(step, operationOf(SET_LEVEL), own);
  await expect(reply.message(new ReplyMessage('response', '{"id":1,"result":{}}'))).rejects.toThrow('away');
  expect(own.told).toEqual([]);
});

test('answers to other requests are not read', async () => {
  const own = new RecordingReply();
  const { reply } = await through(new Remembered(new MemoryStore()), operationOf({ id: 1, method: 'ping' }), own);
  expect(reply).toBe(own);
});
