import { describe, expect, test } from 'vitest';

import { INVALID_REQUEST, PARSE_ERROR } from '../errors.ts';
import {
  type Body,
  cancelledRequest,
  isResponseTo,
  type Message,
  modernRevision,
  parseBody,
  progressToken,
  responseIds,
  toolName,
} from './message.ts';
import { generateJson, seededRandom } from './testing/generate-json.ts';

function parse(text: string): Body {
  const body = parseBody(Buffer.from(text));
  if ('code' in body) throw new Error(`${text.slice(0, 200)}: ${body.detail}`);
  return body;
}

function one(text: string): Message {
  const { messages } = parse(text);
  const [message] = messages;
  if (message === undefined || messages.length !== 1) throw new Error('not one message');
  return message;
}

const request = (id: string, rest = ''): string => `{"jsonrpc":"2.0","id":${id},"method":"m"${rest}}`;

describe('parseBody', () => {
  test('reads a request, and keeps its bytes', () => {
    const bytes = Buffer.from(' {"params" : {"a":1} ,"method":"tools/call","id":7,"jsonrpc":"2.0","extra":[1]}\n');
    const body = parseBody(bytes);
    expect(body).toEqual({
      bytes,
      text: bytes.toString(),
      batch: false,
      messages: [{ kind: 'request', method: 'tools/call', params: { a: 1 }, idText: '7' }],
    });
  });

  test('takes no tool call for a notification', () => {
    expect(parseBody(Buffer.from('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}'))).toMatchObject({
      code: -32600,
      detail: expect.stringContaining('"id"'),
    });
  });

  test('refuses members of the protocol in another spelling', () => {
    expect(parseBody(Buffer.from('{"jsonrpc":"2.0","ID":1,"method":"tools/call"}'))).toMatchObject({
      code: -32600,
      detail: 'The member "id" must be written exactly so.',
    });
  });

  test('reads notifications and responses', () => {
    expect(one('{"jsonrpc":"2.0","method":"notifications/initialized"}')).toEqual({
      kind: 'notification',
      method: 'notifications/initialized',
      params: {},
    });
    const response = { kind: 'response', idText: '"a"', params: {} };
    expect(one('{"jsonrpc":"2.0","id":"a","result":{}}')).toEqual(response);
    expect(one('{"jsonrpc":"2.0","id":"a","result":null}')).toEqual(response);
    expect(one('{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}')).toEqual(response);
  });

  test.each([
    ['0', '0'],
    ['-1', '-1'],
    ['1.0', '1'],
    ['1e3', '1000'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['1e300', '1e300'],
    ['""', '""'],
    ['"a\\"b"', '"a\\"b"'],
    [String.raw`"\u0061\n"`, String.raw`"a\n"`],
    [String.raw`"\ud800"`, String.raw`"\ud800"`],
    ['"1"', '"1"'],
  ])('keeps the id %s', (sent, idText) => {
    expect(one(request(sent))).toMatchObject({ kind: 'request', idText });
    expect(parse(`[${request('1')},\n ${request(sent)}]`).messages[1]).toMatchObject({ idText });
  });

  test('keeps a large id that stands after other ids', () => {
    const text = '{"params":{"id":1},"x":{"id":2},"jsonrpc":"2.0","method":"m","id":9007199254740993}';
    expect(one(text)).toMatchObject({ idText: '9007199254740993' });
  });

  test.each([
    ['"', 'x'.repeat(256), '"'],
    ['', `1${'0'.repeat(255)}`, ''],
  ])('M7: refuses ids of requests past 256 characters (%s…)', (before, most, after) => {
    expect(parseBody(Buffer.from(request(before + most + after)))).toMatchObject({ messages: [{ kind: 'request' }] });
    expect(parseBody(Buffer.from(request(`${before}${most}0${after}`)))).toEqual({
      code: INVALID_REQUEST,
      detail: 'The member "id" has more than 256 characters.',
      idText: 'null',
    });
  });

  test('reads batches of any kinds of messages', () => {
    const text = `[ ${request('1')} , {"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"result":1} ]`;
    const body = parse(text);
    expect(body.batch).toBe(true);
    expect(body.messages.map(({ kind }) => kind)).toEqual(['request', 'notification', 'response']);
    expect(parse(`[${Array.from({ length: 100 }, () => request('1')).join(',')}]`).messages).toHaveLength(100);
  });

  test.each<[string, number, string, string]>([
    // Not JSON.
    ['', PARSE_ERROR, 'not valid JSON', 'null'],
    ['   ', PARSE_ERROR, 'not valid JSON', 'null'],
    ['{', PARSE_ERROR, 'not valid JSON', 'null'],
    ['{"jsonrpc":"2.0","id":1,"method":"m"', PARSE_ERROR, 'not valid JSON', 'null'],
    ['{"jsonrpc":"2.0","id":1,"method":"m"}}', PARSE_ERROR, 'not valid JSON', 'null'],
    ["{'jsonrpc':'2.0'}", PARSE_ERROR, 'not valid JSON', 'null'],
    ['{"jsonrpc":"2.0","id":01,"method":"m"}', PARSE_ERROR, 'not valid JSON', 'null'],
    ['{"jsonrpc":"2.0","id":NaN,"method":"m"}', PARSE_ERROR, 'not valid JSON', 'null'],
    [String.raw`{"\x":1}`, PARSE_ERROR, 'not valid JSON', 'null'],
    ['\ufeff{"jsonrpc":"2.0","id":1,"method":"m"}', PARSE_ERROR, 'not valid JSON', 'null'],
    ['{"jsonrpc":"2.0","id":1,"method":"m"} // x', PARSE_ERROR, 'not valid JSON', 'null'],
    ['\0', PARSE_ERROR, 'not valid JSON', 'null'],
    // Not a message.
    ['null', INVALID_REQUEST, 'must be a JSON object', 'null'],
    ['1', INVALID_REQUEST, 'must be a JSON object', 'null'],
    ['"x"', INVALID_REQUEST, 'must be a JSON object', 'null'],
    ['{}', INVALID_REQUEST, '"jsonrpc"', 'null'],
    ['{"id":5,"method":"m"}', INVALID_REQUEST, '"jsonrpc"', '5'],
    ['{"jsonrpc":"1.0","id":5,"method":"m"}', INVALID_REQUEST, '"jsonrpc"', '5'],
    ['{"jsonrpc":2.0,"id":5,"method":"m"}', INVALID_REQUEST, '"jsonrpc"', '5'],
    ['{"jsonrpc":"2.0","id":null,"method":"m"}', INVALID_REQUEST, '"id"', 'null'],
    ['{"jsonrpc":"2.0","id":1.5,"method":"m"}', INVALID_REQUEST, '"id"', 'null'],
    ['{"jsonrpc":"2.0","id":1e400,"method":"m"}', INVALID_REQUEST, '"id"', 'null'],
    ['{"jsonrpc":"2.0","id":true,"method":"m"}', INVALID_REQUEST, '"id"', 'null'],
    ['{"jsonrpc":"2.0","id":[1],"method":"m"}', INVALID_REQUEST, '"id"', 'null'],
    ['{"jsonrpc":"2.0","id":{},"method":"m"}', INVALID_REQUEST, '"id"', 'null'],
    ['{"jsonrpc":"2.0","id":5}', INVALID_REQUEST, 'no "method"', '5'],
    ['{"jsonrpc":"2.0","result":{}}', INVALID_REQUEST, 'no "method"', 'null'],
    ['{"jsonrpc":"2.0","id":5,"method":""}', INVALID_REQUEST, '"method"', '5'],
    ['{"jsonrpc":"2.0","id":5,"method":7}', INVALID_REQUEST, '"method"', '5'],
    ['{"jsonrpc":"2.0","id":5,"method":null}', INVALID_REQUEST, '"method"', '5'],
    ['{"jsonrpc":"2.0","id":"a","method":"m","params":[]}', INVALID_REQUEST, '"params"', '"a"'],
    ['{"jsonrpc":"2.0","id":"a","method":"m","params":null}', INVALID_REQUEST, '"params"', '"a"'],
    ['{"jsonrpc":"2.0","id":"a","method":"m","params":"x"}', INVALID_REQUEST, '"params"', '"a"'],
    // What two parsers may read differently.
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', INVALID_REQUEST, '"id" occurs more than once', 'null'],
    ['{"jsonrpc":"2.0","id":1,"method":"m","Method":"x"}', INVALID_REQUEST, '"method" occurs more', 'null'],
    [request('1', ',"params":{"name":"a","name":"b"}'), INVALID_REQUEST, '"name" occurs more than once', 'null'],
    [
      request('1', `,"params":{"${'k'.repeat(5000)}":1,"${'k'.repeat(5000)}":2}`),
      INVALID_REQUEST,
      `"${'k'.repeat(64)}" `,
      'null',
    ],
    // Batches.
    ['[]', INVALID_REQUEST, 'empty', 'null'],
    [`[${request('1')},1]`, INVALID_REQUEST, 'must be a JSON object', 'null'],
    [`[[${request('1')}]]`, INVALID_REQUEST, 'must be a JSON object', 'null'],
    [`[${request('1')},{"jsonrpc":"2.0","id":"x"}]`, INVALID_REQUEST, 'no "method"', '"x"'],
    [`[${request('1')},{"id":1,"id":2}]`, INVALID_REQUEST, '"id" occurs more than once', 'null'],
    [`[${Array.from({ length: 101 }, () => request('1')).join(',')}]`, INVALID_REQUEST, 'at most 100', 'null'],
  ])('refuses %.90s', (text, code, detail, idText) => {
    expect(parseBody(Buffer.from(text))).toEqual({ code, detail: expect.stringContaining(detail), idText });
  });

  test('refuses nesting past 512 levels, and does not even parse it', () => {
    const nested = (depth: number): Buffer =>
      Buffer.from(request('1', `,"params":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`));
    expect(parseBody(nested(510))).toMatchObject({ batch: false });
    expect(parseBody(nested(511))).toMatchObject({ code: INVALID_REQUEST, detail: expect.stringContaining('512') });
    // The end is missing, which only a parser would find out, after more than a second.
    expect(parseBody(Buffer.from('['.repeat(16_000_000)))).toMatchObject({ code: INVALID_REQUEST });
  });

  test('refuses bytes that are not UTF-8, wherever they are', () => {
    const sample = Buffer.from(request('1', ',"params":{"text":"x"}'));
    const broken = [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x80]];
    for (let at = 0; at <= sample.length; at++) {
      for (const bytes of broken) {
        const body = parseBody(Buffer.concat([sample.subarray(0, at), Buffer.from(bytes), sample.subarray(at)]));
        expect(body).toEqual({ code: PARSE_ERROR, detail: 'The body is not valid UTF-8.', idText: 'null' });
      }
    }
  });

  test('takes any JSON as parameters, and refuses any other as a message, without ever throwing', () => {
    const random = seededRandom(7);
    let accepted = 0;
    for (let i = 0; i < 300; i++) {
      const text = generateJson(random);
      const value: unknown = JSON.parse(text);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      const body = parseBody(Buffer.from(request('1', `,"params":${text}`)));
      if (!('code' in body)) {
        accepted++;
        expect(isObject).toBe(true);
        expect(body.messages[0]?.params).toEqual(value);
      } else if (isObject) expect(body.detail).toContain('more than once');
      expect(parseBody(Buffer.from(text))).toHaveProperty('code');
    }
    expect(accepted).toBeGreaterThan(50);
  });
});

const message = (params: unknown): Message => one(request('1', `,"params":${JSON.stringify(params)}`));
const VERSION = 'io.modelcontextprotocol/protocolVersion';

test.each<[unknown, string | undefined]>([
  [{ _meta: { [VERSION]: '2026-07-28' } }, '2026-07-28'],
  [{ _meta: { [VERSION]: 20_260_728 } }, undefined],
  [{ _meta: {} }, undefined],
  [{ _meta: null }, undefined],
  [{ _meta: 'x' }, undefined],
  [{ [VERSION]: '2026-07-28' }, undefined],
  [{}, undefined],
])('the revision of a sessionless message: %j', (params, expected) => {
  expect(modernRevision(message(params))).toBe(expected);
});

test.each<[unknown, string | undefined]>([
  [{ name: 'a' }, 'a'],
  [{ name: '' }, ''],
  [{ name: 1 }, undefined],
  [{}, undefined],
])('the tool of a call: %j', (params, expected) => {
  expect(toolName(message(params))).toBe(expected);
});

test.each<[unknown, string | null]>([
  [{ _meta: { progressToken: 'a"b' } }, '"a\\"b"'],
  [{ _meta: { progressToken: 0 } }, '0'],
  [{ _meta: { progressToken: null } }, null],
  [{ _meta: { progressToken: {} } }, null],
  [{ _meta: [] }, null],
  [{}, null],
])('the progress token of a request: %j', (params, expected) => {
  expect(progressToken(message(params))).toBe(expected);
});

test('M7: a progress token past 256 characters is none', () => {
  const [most, more] = ['x'.repeat(256), 'x'.repeat(257)];
  expect(progressToken(message({ _meta: { progressToken: most } }))).toBe(`"${most}"`);
  expect(progressToken(message({ _meta: { progressToken: more } }))).toBeNull();
});

test.each<[string, readonly (string | number)[] | undefined]>([
  ['{"id":"x","result":{}}', ['x']],
  ['{"id":1,"error":{}}', [1]],
  ['{"id":null,"error":{}}', []],
  ['{"id":1,"method":"m"}', []],
  ['{"method":"m"}', []],
  ['[{"id":2,"result":{}},null,{"id":"a","error":{}}]', [2, 'a']],
  ['not JSON', undefined],
  ['{"id":1,"result":{"x":NaN}}', undefined],
])('the responses in %s: %j', (text, expected) => {
  expect(responseIds(text)).toEqual(expected);
});

describe('isResponseTo', () => {
  test.each<[string, string, boolean]>([
    ['{"jsonrpc":"2.0","id":1,"result":{}}', '1', true],
    ['{"id":1,"error":{}}', '1', true],
    ['{"id":1.0,"result":{}}', '1', true],
    ['{"id":9007199254740993,"result":{}}', '9007199254740993', true],
    ['{"id":"1","result":{}}', '1', false],
    ['{"id":1,"result":{}}', '"1"', false],
    ['{"id":"a","result":{}}', '"a"', true],
    [String.raw`{"id":"\u0061","result":{}}`, '"a"', true],
    ['{"id":1,"method":"sampling/createMessage"}', '1', false],
    ['{"id":2,"result":{}}', '1', false],
    ['{"id":null,"error":{}}', 'null', false],
    ['[{"id":2,"result":{}},{"id":1,"result":{}}]', '1', true],
    ['[{"id":2,"result":{}},null,1]', '1', false],
    ['not JSON', '1', false],
    ['', '1', false],
    ['null', 'null', false],
  ])('%s to %s: %s', (text, idText, expected) => {
    expect(isResponseTo(text, idText)).toBe(expected);
  });
});

describe('the request that is cancelled', () => {
  const cancelled = (requestId: string, method = 'notifications/cancelled'): string | undefined =>
    cancelledRequest(parse(`{"jsonrpc":"2.0","method":"${method}","params":{"requestId":${requestId}}}`));

  test.each([
    ['7', '7'],
    ['90071992547409930', '90071992547409930'],
    [String.raw`"\u0061"`, '"a"'],
  ])('is known by %s as its sender wrote it', (requestId, idText) => {
    expect(cancelled(requestId)).toBe(idText);
  });

  test('is none for other messages', () => {
    expect(cancelled('7', 'notifications/progress')).toBeUndefined();
    expect(cancelledRequest(parse(request('1', ',"params":{"requestId":7}')))).toBeUndefined();
    expect(cancelledRequest(parse('{"jsonrpc":"2.0","method":"notifications/cancelled"}'))).toBeUndefined();
  });

  test.each([JSON.stringify('x'.repeat(257)), `1${'0'.repeat(256)}`, JSON.stringify([['x'.repeat(300)]])])(
    'M7: is none where no request can have such an id: %.20s…',
    (requestId) => {
      expect(cancelled(requestId)).toBeUndefined();
    },
  );
});
