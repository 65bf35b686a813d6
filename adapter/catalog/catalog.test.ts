import { describe, expect, test } from 'vitest';

import { visibleTools, withVisibleTools } from './catalog.ts';
import { disabledTools } from './disabled-tools.ts';

const none = disabledTools([]);
const hidden = disabledTools(['b', 'x.*']);
const tool = (name: string): string => `{"description":"n: ${name}", "name" : "${name}","big":12345678901234567890}`;

describe('the tools that a client sees', () => {
  test('are all but the disabled ones, byte for byte', () => {
    const result = `{ "_meta":{"tools":[{"name":"b"}]}, "tools" : [ ${tool('a')} ,${tool('b')},\n${tool('c')} , ${tool('xyz')}], "nextCursor":"2"}`;
    expect(visibleTools(result, hidden)).toBe(
      `{ "_meta":{"tools":[{"name":"b"}]}, "tools" : [${tool('a')},${tool('c')}], "nextCursor":"2"}`,
    );
    expect(visibleTools(result, none)).toBe(result);
  });

  test.each([
    `{"tools":[ ${tool('a')} , ${tool('c')} ]}`,
    '{"tools":[]}',
    '{"tools":{}}',
    '{"tools":null}',
    '{}',
    '[]',
    'null',
    '{"tools":[{"name":7},{},null,1,"b",[{"name":"b"}],{"title":"b"}]}',
  ])('are unchanged in %s', (result) => {
    expect(visibleTools(result, hidden)).toBe(result);
  });

  test('may be none', () => {
    expect(visibleTools(`{"tools":[${tool('b')}]}`, hidden)).toBe('{"tools":[]}');
  });

  test('are told by what their names mean, and by the last of several', () => {
    expect(visibleTools(String.raw`{"tools":[{"name":"\u0062"},{"\u006eame":"b"}]}`, hidden)).toBe('{"tools":[]}');
    expect(visibleTools('{"tools":[{"name":"a","name":"b"},{"name":"b","name":"a"}]}', hidden)).toBe(
      '{"tools":[{"name":"b","name":"a"}]}',
    );
  });
});

describe('an answer', () => {
  const answer = (id: string, name: string): string =>
    `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${tool(name)}]}}`;
  const empty = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[]}}`;

  test('of one message shows visible tools only', () => {
    expect(withVisibleTools(answer('1', 'b'), hidden, undefined)).toBe(empty('1'));
    expect(withVisibleTools(answer('1', 'a'), hidden, undefined)).toBe(answer('1', 'a'));
    expect(withVisibleTools(answer('1', 'b'), none, undefined)).toBe(answer('1', 'b'));
    expect(withVisibleTools(` [ ${answer('1', 'b')} ] `, hidden, undefined)).toBe(` [ ${empty('1')} ] `);
  });

  test('of a batch does so where tools were asked for', () => {
    const batch = `[${answer('1', 'b')}, ${answer('"x"', 'b')},${answer('3', 'b')}]`;
    expect(withVisibleTools(batch, hidden, ['"x"', '3'])).toBe(`[${answer('1', 'b')}, ${empty('"x"')},${empty('3')}]`);
    expect(withVisibleTools(answer('1', 'b'), hidden, ['1'])).toBe(empty('1'));
    expect(withVisibleTools(answer('2', 'b'), hidden, ['1'])).toBe(answer('2', 'b'));
  });

  test('without a result is left alone', () => {
    const error = '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":{"tools":[{"name":"b"}]}}}';
    expect(withVisibleTools(error, hidden, undefined)).toBe(error);
    expect(withVisibleTools('[]', hidden, undefined)).toBe('[]');
  });
});
