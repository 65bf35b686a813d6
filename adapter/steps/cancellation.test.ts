import { expect, test } from 'vitest';

import { sessionRecord } from '../sessions/testing/session-record.ts';
import type { ControlMessage } from '../state/message-bus.ts';
import { Cancellation } from './cancellation.ts';
import { sampleOperation, through } from './testing/step-scene.ts';

const { serverId, sessionId } = sessionRecord();
const CANCEL = { method: 'notifications/cancelled', params: { requestId: 7 } };

function operationOf(message: object) {
  const operation = sampleOperation(message);
  operation.record = sessionRecord();
  return operation;
}

test('all replicas hear of a cancelled request before the upstream does', async () => {
  const told: ControlMessage[] = [];
  const passing = Promise.withResolvers<void>();
  const publish = (message: ControlMessage): Promise<void> => {
    told.push(message);
    return passing.promise;
  };
  const step = new Cancellation({ publish }, () => expect.fail());
  let isPassed = false;
  const passed = through(step, operationOf(CANCEL)).then(() => (isPassed = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([{ type: 'cancelled', serverId, sessionId, requestId: '7' }]);
  expect(isPassed).toBe(false);
  passing.resolve();
  await passed;
});

test('a cancellation goes on where nobody can be told', async () => {
  const failures: unknown[] = [];
  const failure = new Error('away');
  const step = new Cancellation({ publish: () => Promise.reject(failure) }, (error) => failures.push(error));
  await through(step, operationOf(CANCEL));
  expect(failures).toEqual([failure]);
});

test('nothing else is told', async () => {
  const step = new Cancellation({ publish: () => expect.fail() }, () => expect.fail());
  await through(step, operationOf({ id: 1, method: 'ping' }));
  await through(step, operationOf({ method: 'notifications/progress' }));
});
