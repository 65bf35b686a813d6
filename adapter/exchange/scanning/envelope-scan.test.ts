import { describe, expect, test } from 'vitest';

import { EnvelopeScan } from './envelope-scan.ts';
import { generateJson, seededRandom } from '../testing/generate-json.ts';

const result = '{"tools":[{"name":"x","description":"{[\\"\\\\"}]}';

interface Read {
  readonly problem?: string;
  readonly ids?: readonly (string | number)[];
  readonly hasResult?: boolean;
  readonly hasOther?: boolean;
  readonly hasLooseError?: boolean;
}

function read(text: string, cut?: number): Read {
  const scan = new EnvelopeScan();
  if (cut === undefined) scan.push(text);
  else for (const part of [text.slice(0, cut), text.slice(cut)]) scan.push(part);
  const { ids, hasResult, hasOther, hasLooseError } = scan;
  const problem = scan.problem ?? (scan.isComplete ? undefined : 'malformed');
  if (problem !== undefined) return { problem };
  return {
    ids,
    ...(hasResult && { hasResult }),
    ...(hasOther && { hasOther }),
    ...(hasLooseError && { hasLooseError }),
  };
}

const PASSED: readonly [string, string, Read][] = [
  ['a response', `{"jsonrpc":"2.0","id":3,"result":${result}}`, { ids: [3], hasResult: true }],
  ['a response whose id comes last', `{"result":${result},"jsonrpc":"2.0","id":"a"}`, { ids: ['a'], hasResult: true }],
  ['one with white space', ` { "id" : 3 ,\n\t"result" : ${result} } \n`, { ids: [3], hasResult: true }],
  ['an id with escapes', '{"id":"\\u0061\\"","result":{}}', { ids: ['a"'], hasResult: true }],
  ['a large id', '{"id":9007199254740993,"result":{}}', { ids: [9007199254740992], hasResult: true }],
  [
    'members of its own',
    '{"id":3,"trace":{"id":1,"Result":2},"x":[1,{}],"result":null}',
    { ids: [3], hasResult: true },
  ],
  ['an error', '{"id":3,"error":{"code":-1,"message":"m","data":{"result":1}}}', { ids: [3] }],
  ['an error without an id', '{"error":{"code":-1}}', { ids: [], hasLooseError: true }],
  ['an error of no request', '{"id":null,"error":{"code":-1}}', { ids: [], hasLooseError: true }],
  ['a result beside an error that is null', '{"id":3,"result":{},"error":null}', { ids: [3], hasResult: true }],
  ['an error beside a result that is null', '{"id":3,"result":null,"error":{"code":1}}', { ids: [3] }],
  ['a request', '{"id":3,"method":"ping","params":{"method":null}}', { ids: [], hasOther: true }],
  ['a notification', '{"method":"notifications/progress","params":{"result":1}}', { ids: [], hasOther: true }],
  [
    'an array',
    '[{"id":1,"result":{}},{"method":"m"},{"id":"b","error":{}}]',
    {
      ids: [1, 'b'],
      hasResult: true,
      hasOther: true,
    },
  ],
];

const REFUSED: readonly [string, string, string][] = [
  ['a method that is null', `{"id":3,"method":null,"result":${result}}`, 'kind'],
  ['a method that is a list', '{"method":["x"]}', 'kind'],
  ['a method beside a result', `{"id":3,"method":"ping","result":${result}}`, 'kind'],
  ['a method beside an error', '{"id":3,"method":"ping","error":{}}', 'kind'],
  ['a method beside an error that is null', '{"id":3,"method":"ping","error":null}', 'kind'],
  ['a result and an error', '{"id":3,"result":{},"error":{}}', 'kind'],
  ['neither', '{"id":3}', 'kind'],
  ['nothing', '{}', 'kind'],
  ['a result without an id', '{"result":{}}', 'kind'],
  ['a result whose id is null', '{"id":null,"result":{}}', 'kind'],
  ['an id that is true', '{"id":true,"result":{}}', 'kind'],
  ['an id that is a list', '{"id":[3],"result":{}}', 'kind'],
  ['a request whose id is an object', '{"id":{},"method":"m"}', 'kind'],
  ['Result', `{"id":3,"Result":${result}}`, 'member'],
  ['ID', `{"ID":3,"result":${result}}`, 'member'],
  ['a long s', `{"id":3,"re\u017fult":${result}}`, 'member'],
  ['a name in escapes', `{"id":3,"\\u0072esult":${result}}`, 'member'],
  ['two ids', `{"id":2,"id":3,"result":${result}}`, 'member'],
  ['two results', `{"id":3,"result":{},"result":${result}}`, 'member'],
  ['two versions', '{"jsonrpc":"2.0","jsonrpc":"2.0","id":3,"result":{}}', 'member'],
  ['a member in an array', '[{"id":3,"result":{}},{"id":4,"Result":{}}]', 'member'],
  ['no JSON', 'ok', 'malformed'],
  ['a text', '"ok"', 'malformed'],
  ['a part of a message', '{"id":3,"result":{}', 'malformed'],
  ['two messages', '{"id":3,"result":{}}{"id":4,"result":{}}', 'malformed'],
  ['an empty array', '[]', 'malformed'],
  ['an array of arrays', '[[{"id":3,"result":{}}]]', 'malformed'],
  ['an array of texts', '["x"]', 'malformed'],
  ['a comment', '{"id":3,"result":{/*"*/}}', 'malformed'],
  ['other quotes', `{'id':3,"result":{}}`, 'malformed'],
  ['a member without quotes', '{id:3,"result":{}}', 'malformed'],
  ['a comma too many', '{"id":3,"result":{},}', 'malformed'],
  ['a comma too few', '{"id":3 "result":{}}', 'malformed'],
  ['NaN', '{"id":3,"result":[NaN]}', 'malformed'],
  ['Infinity', '{"id":3,"result":{"x":-Infinity}}', 'malformed'],
  ['a byte order mark', '\ufeff{"id":3,"result":{}}', 'malformed'],
  ['a line separator', '{"id":3,\u2028"result":{}}', 'malformed'],
];

describe('the envelope of a message', () => {
  test.each(PASSED)('is that of %s', (_name, text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  test.each(REFUSED)('H3 T10: is not that of %s', (_name, text, problem) => {
    expect(read(text)).toEqual({ problem });
  });

  test('is the same wherever the text is cut', () => {
    for (const [, text] of [...PASSED, ...REFUSED]) {
      const whole = read(text);
      for (let cut = 0; cut <= text.length; cut++) expect(read(text, cut), `${text} at ${cut}`).toEqual(whole);
    }
  });

  test('is read past any value that JSON has, cut or not', () => {
    const random = seededRandom(7);
    for (let i = 0; i < 2000; i++) {
      const text = `{"id":1,"result":${generateJson(random)},"x":${generateJson(random)}}`;
      const cut = i % 2 === 0 ? undefined : Math.floor(random() * text.length);
      expect(read(text, cut), text).toEqual({ ids: [1], hasResult: true });
    }
  });

  test('counts at least the values and levels that there are', () => {
    const scan = new EnvelopeScan();
    scan.push('{"id":1,"result":[[1,2],[{}]]}');
    expect(scan.exceeded({ values: 9, depth: 4 })).toBeUndefined();
    expect(scan.exceeded({ values: 9, depth: 3 })).toBe('depth');
    expect(scan.exceeded({ values: 6, depth: 4 })).toBe('values');
  });

  test('takes bytes for the text that they are', () => {
    const scan = new EnvelopeScan(true);
    scan.push(Buffer.from(`{"id":"é","re\u017fult":1}`).toString('latin1'));
    expect(scan.problem).toBe('member');
    const other = new EnvelopeScan(true);
    other.push(Buffer.from('{"id":"é😀","result":1}').toString('latin1'));
    expect(other.ids).toEqual(['é😀']);
  });
});

describe('reserved members of a result', () => {
  const found = (text: string): string[] => {
    const scan = new EnvelopeScan();
    scan.push(text);
    return (scan.reserved ?? []).map(({ start, end }) => text.slice(start, end));
  };

  test.each([
    ['{"id":1,"result":{"_meta":{"artifact":{}}}}', ['"artifact"']],
    [
      '{"id":1,"result":{"content":[],"_meta":{"a":1,"artifact_error":1,"artifact":2}}}',
      ['"artifact_error"', '"artifact"'],
    ],
    [String.raw`{"result":{"\u005fmeta" : { "\u0061rtifact":{}}},"id":1}`, [String.raw`"\u0061rtifact"`]],
    ['[{"id":1,"result":{"_meta":{"Artifact":{}}}}]', ['"Artifact"']],
    ['{"id":1,"result":{"artifact":{},"content":[{"_meta":{"artifact":1}}],"_meta":{"x":{"artifact":1}}}}', []],
    ['{"id":1,"result":{"_meta":"artifact"}}', []],
    ['{"method":"m","params":{"_meta":{"artifact":1}}}', []],
  ])('L1: of %s', (text, expected) => {
    expect(found(text)).toEqual(expected);
  });
});

test('T17: whitespace without an end is no message', () => {
  const scan = new EnvelopeScan();
  for (let i = 0; i < 16; i++) scan.push(' '.repeat(1 << 16));
  expect(scan.problem).toBeUndefined();
  scan.push(' ');
  expect(scan.problem).toBe('malformed');
  expect(scan.isHarmless).toBe(false);
});
