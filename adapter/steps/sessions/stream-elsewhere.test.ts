import { expect, test } from 'vitest';

import { StreamElsewhere } from './stream-elsewhere.ts';
import { pass, RecordingReply, sampleOperation, through } from '../testing/step-scene.ts';

const resumed = () => sampleOperation(undefined, { caller: { headers: { 'last-event-id': '7' } } });

test('a stream is opened here, where the client saw it last', async () => {
  const operation = resumed();
  const reply = new RecordingReply();
  expect((await through(new StreamElsewhere(() => false), operation, reply)).reply).toBe(reply);
  expect(operation.lastEventId).toBe('7');
  const fresh = sampleOperation(undefined);
  await through(new StreamElsewhere(() => false), fresh);
  expect(fresh.lastEventId).toBeUndefined();
});

test('a stream that is better opened elsewhere ends at once, with the event that the client goes on from', async () => {
  const operation = resumed();
  const reply = new RecordingReply();
  expect(await pass(new StreamElsewhere(() => true), operation, reply)).toBeUndefined();
  expect(reply.told).toEqual(['end ok']);
  expect(operation.lastEventId).toBe('7');
});
