import { expect, test } from 'vitest';

import { withId } from './responses.ts';

test.for([
  [
    'another',
    '{"jsonrpc":"2.0", "id": 1 ,"result":{"id":1}}',
    '{"jsonrpc":"2.0", "id": 9007199254740993 ,"result":{"id":1}}',
  ],
  ['null', '{"id":null,"error":{}}', '{"id":9007199254740993,"error":{}}'],
  ['none', '{"error":{"id":1}}', '{"id":9007199254740993,"error":{"id":1}}'],
] as const)('a response gets an id in place of %s', ([, said, shown]) => {
  expect(withId(said, '9007199254740993')).toBe(shown);
});
