import { expect, test } from 'vitest';
import { readBytes } from './answer-body.ts';

test('T17: single bytes are read in many turns, so that others have theirs, and are kept as few', async () => {
  const count = 30_000;
  const bytes = async function* (): AsyncGenerator<Buffer> {
    for (let i = 0; i < count; i++) yield Buffer.from([i % 251]);
  };
  let [ofTurn, most] = [0, 0];
  const take = async (): Promise<void> => {
    if (ofTurn++ === 0) setImmediate(() => (ofTurn = 0));
    most = Math.max(most, ofTurn);
  };
  const read = await readBytes(bytes(), { maxBytes: count, take });
  expect([...read]).toEqual(Array.from({ length: count }, (_, i) => i % 251));
  expect(most).toBeLessThanOrEqual(8192);
});
