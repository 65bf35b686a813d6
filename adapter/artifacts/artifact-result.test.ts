import { describe, expect, test } from 'vitest';

import { withAdditions } from './artifact-result.ts';

const message = (result: string): string => `{"jsonrpc":"2.0", "id":1,\n "result": ${result} }`;
const BLOCK = '{"type":"text","text":"new"}';
const META = { artifact: '{"n":1}' };

describe('a result to which something was added', () => {
  test('keeps every other byte', () => {
    const big = message(
      '{ "content" : [ {"type":"text","text":"old","x":12345678901234567890} ],\n"_meta":{"a": 1.50},"y":1e400 }',
    );
    expect(withAdditions(big, { first: ['1', '2'], last: [BLOCK, '3'], meta: META, isError: true })).toBe(
      message(
        `{"isError":true, "content" : [1,2, {"type":"text","text":"old","x":12345678901234567890} ,${BLOCK},3],\n` +
          '"_meta":{"artifact":{"n":1},"a": 1.50},"y":1e400 }',
      ),
    );
  });

  test.each([
    ['{}', `{"content":[${BLOCK}],"_meta":{"artifact":{"n":1}}}`],
    ['{"content":[]}', `{"_meta":{"artifact":{"n":1}},"content":[${BLOCK}]}`],
    ['{"content":null,"_meta":null}', `{"content":[${BLOCK}],"_meta":{"artifact":{"n":1}}}`],
    ['{"_meta":{},"content":[ ]}', `{"_meta":{"artifact":{"n":1}},"content":[${BLOCK} ]}`],
    ['{"_meta":{"artifact":"old","z":1},"content":[2]}', `{"_meta":{"artifact":{"n":1},"z":1},"content":[2,${BLOCK}]}`],
    [
      '{"structuredContent":{"content":[],"_meta":{}},"content":["]}"]}',
      `{"_meta":{"artifact":{"n":1}},"structuredContent":{"content":[],"_meta":{}},"content":["]}",${BLOCK}]}`,
    ],
  ])('is whole: %s', (before, after) => {
    expect(withAdditions(message(before), { last: [BLOCK], meta: META })).toBe(message(after));
  });

  test('of which two members have one name, gets it where parsers look', () => {
    const text = withAdditions(message('{"content":[1],"content":[2],"isError":0}'), { last: ['3'], isError: true });
    expect(JSON.parse(text)).toMatchObject({ result: { content: [2, 3], isError: true } });
  });

  test('stays as it is when nothing is added, or there is none', () => {
    const error = '{"jsonrpc":"2.0","id":1,"error":{"code":1}}';
    expect(withAdditions(error, { meta: META })).toBe(error);
    expect(withAdditions(message('{"a":1}'), {})).toBe(message('{"a":1}'));
  });
});
