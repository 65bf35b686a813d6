import { expect, test } from 'vitest';

import { beginsOwnResponse, isOwnResponse } from './own-response.ts';

test.each([
  ['{"jsonrpc":"2.0","id":1,"result":{"id":2}}', ['1'], true],
  ['{"result":{"id":2},"id":1}', ['1'], true],
  [' { "id" : "a" }', ['"a"'], true],
  ['{"id":1,"result":{"text":"cut o', ['1'], true],
  ['{"id":1,"id":2}', ['1'], false],
  [String.raw`{"id":1,"\u0069d":2}`, ['1'], false],
  ['{"id":"1"}', ['1'], false],
  ['[{"id":1}]', ['1'], false],
  ['{"result":{"text":"cut o', ['1'], false],
  ['{"id":1}', ['1', '2'], false],
  ['{"id":1}', [], false],
  ['', ['1'], false],
])('%s is the response to %j: %s', (text, ids, expected) => {
  expect(isOwnResponse(text, ids)).toBe(expected);
  expect(beginsOwnResponse(`id: 7\nevent: message\ndata: ${text}`, ids)).toBe(expected);
});
