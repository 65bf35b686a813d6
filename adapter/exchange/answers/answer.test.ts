import { expect, test } from 'vitest';

import { surround } from './answer.ts';
import { wholeAnswer } from '../testing/whole-answer.ts';

async function* partsOf(...parts: readonly string[]): AsyncGenerator<string> {
  yield* parts;
}

test('an answer with text around it is one answer, and as long as all of it', async () => {
  expect(surround('{"r":', '1', '}')).toBe('{"r":1}');
  const all = surround('é', { bytes: 2, parts: partsOf('a', 'b'), releasable: true }, '!');
  if (typeof all === 'string') throw new Error('not streamed');
  expect([all.bytes, all.releasable, await wholeAnswer(all)]).toEqual([5, true, 'éab!']);
  const unknown = surround('', { bytes: undefined, parts: partsOf('a') }, '');
  expect(typeof unknown === 'string' ? 0 : unknown.bytes).toBeUndefined();
});
