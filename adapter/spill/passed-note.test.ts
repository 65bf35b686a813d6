import { expect, test } from 'vitest';

import { Outline } from './outline.ts';
import { passedNote } from './passed-note.ts';

const NOTE = '"artifact_error":{"code":"c","detail":"d"}';

function noted(message: string, endBytes: number, outline = new Outline(message)): string {
  const bytes = Buffer.from(message);
  const at = Math.max(0, bytes.length - endBytes);
  return bytes.subarray(0, at).toString() + passedNote('c', 'd')(outline, bytes.subarray(at)).toString();
}

test.each([
  ['{"id":1,"result":{"content":["é"]}}', `{"id":1,"result":{"content":["é"],"_meta":{${NOTE}}}}`],
  ['{"result":{ } , "id":1} ', `{"result":{ "_meta":{${NOTE}}} , "id":1} `],
  ['{"result":{"content":[],"_meta":{"a":1}}}', `{"result":{"content":[],"_meta":{"a":1,${NOTE}}}}`],
  ['{"result":{"content":[],"_meta":{}}}', `{"result":{"content":[],"_meta":{${NOTE}}}}`],
  [
    '{"result":{"taskId":"t","result":{"content":[]}}}',
    `{"result":{"taskId":"t","result":{"content":[],"_meta":{${NOTE}}}}}`,
  ],
])('%s gets a note', (message, expected) => {
  expect(noted(message, 1000)).toBe(expected);
});

test.each(['{"error":{}}', '{"result":5}', '{"result":{"_meta":7}}'])('%s stays as it is', (message) => {
  expect(noted(message, 1000)).toBe(message);
});

test('what has left already stays as it is', () => {
  const message = '{"result":{"_meta":{"a":1},"content":["xxxxxxxxxx"]}}';
  expect(noted(message, 20)).toBe(message);
  const late = '{"result":{"content":[]},"more":"xxxxxxxxxx"}';
  expect(noted(late, 25)).toContain('artifact_error');
  expect(noted(late, 10)).toBe(late);
  expect(noted(late, 25, new Outline('{"result":{"content":[]},"more":"\u00000"}', [{ start: 0, end: 1 }]))).toBe(late);
});
