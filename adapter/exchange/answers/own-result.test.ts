import { expect, test } from 'vitest';

import type { StreamedAnswer } from './answer.ts';
import { completeCall, completeResult } from './own-result.ts';

const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

async function read(answer: StreamedAnswer): Promise<string> {
  let text = '';
  for await (const part of answer.parts) text += String(part);
  expect(answer.bytes).toBe(Buffer.byteLength(text));
  return text;
}

test('a list or a resource says that it is complete and nobody’s to keep', async () => {
  expect(JSON.parse(completeResult('{"tools":[]}') as string)).toEqual({ ...complete, tools: [] });
  for (const first of ['{"contents":["é', Buffer.from('{"contents":["é')]) {
    const parts = (async function* () {
      yield '';
      yield first;
      yield Buffer.from('"]}');
    })();
    const streamed = completeResult({ bytes: Buffer.byteLength('{"contents":["é"]}'), parts });
    expect(JSON.parse(await read(streamed as StreamedAnswer))).toEqual({ ...complete, contents: ['é'] });
  }
});

test('the result of a call says that it is complete, once', () => {
  expect(completeCall('{"content":[]}')).toBe('{"resultType":"complete","content":[]}');
  expect(completeCall('{"content":[],"resultType":"complete"}')).toBe('{"content":[],"resultType":"complete"}');
});
