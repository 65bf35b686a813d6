import { expect, test } from 'vitest';

import { AdapterError } from '../../errors.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { refusal, sampleOperation, through } from '../testing/step-scene.ts';
import { UpstreamSession } from './upstream-session.ts';

const PING = { id: 1, method: 'ping' };
const renewed = sessionRecord({ upstreamSessionId: 'new', generation: 1 });

function operationOf(message: object | undefined, record: Partial<SessionRecord> = {}) {
  const operation = sampleOperation(message);
  operation.record = sessionRecord(record);
  return operation;
}

test('messages wait for a stream that the client is opening, but neither that nor what opens it does', async () => {
  const asked: unknown[] = [];
  const streamOrder = {
    before: (_session: unknown, asks: boolean) => {
      asked.push(asks);
      return undefined;
    },
  };
  const step = new UpstreamSession(streamOrder, () => expect.fail());
  await through(step, operationOf(PING));
  await through(step, operationOf({ method: 'notifications/progress' }));
  await through(step, operationOf({ method: 'notifications/initialized' }));
  await through(step, operationOf(undefined));
  expect(asked).toEqual([true, false]);

  const coming = Promise.withResolvers<void>();
  let isPassed = false;
  const waiting = new UpstreamSession({ before: () => coming.promise }, () => expect.fail());
  const passed = through(waiting, operationOf(PING)).then(() => (isPassed = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isPassed).toBe(false);
  coming.resolve();
  await passed;
});

test('a session without an upstream session gets one first', async () => {
  const streamOrder = { before: () => undefined };
  const step = new UpstreamSession(streamOrder, async () => renewed);
  for (const message of [PING, undefined]) {
    const { operation } = await through(step, operationOf(message, { upstreamSessionId: '' }));
    expect(operation.session).toBe(renewed);
  }
  // The upstream has none, which is another thing.
  const { operation } = await through(step, operationOf(PING, { upstreamSessionId: null }));
  expect(operation.session.upstreamSessionId).toBeNull();
  const failing = new UpstreamSession(streamOrder, () => Promise.reject(new AdapterError('upstream_failed')));
  expect(await refusal(failing, operationOf(PING, { upstreamSessionId: '' }))).toMatchObject({
    code: 'upstream_failed',
  });
});
