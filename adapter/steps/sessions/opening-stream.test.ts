import { expect, test } from 'vitest';

import { sessionRecord } from '../../sessions/testing/session-record.ts';
import { OpeningStream } from './opening-stream.ts';
import { sampleOperation, through } from '../testing/step-scene.ts';

/** What is told of a stream that comes to this end. */
async function settled(status: number | undefined): Promise<unknown[]> {
  const told: unknown[] = [];
  const streamOrder = {
    opening: ({ sessionId }: { sessionId: string }) => {
      told.push(sessionId);
      return { settled: (isOpen: boolean) => void told.push(isOpen) };
    },
  };
  const operation = sampleOperation(undefined);
  operation.record = sessionRecord({ sessionId: 'a' });
  const { reply } = await through(new OpeningStream(streamOrder), operation);
  if (status !== undefined) reply.head({ status, headers: {}, upstreamSessionId: null });
  await reply.end({ outcome: 'ok' });
  return told;
}

test('those who wait for a stream hear when it is open, or will never be', async () => {
  expect(await settled(200)).toEqual(['a', true, false]);
  expect(await settled(405)).toEqual(['a', false, false]);
  expect(await settled(undefined)).toEqual(['a', false]);
});
