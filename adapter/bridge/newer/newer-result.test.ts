import { expect, test } from 'vitest';

import { newerResponse } from './newer-result.ts';

const response = (rest: string): string => `{"jsonrpc":"2.0","id":1,${rest}}`;
const newer = (result: string, method = 'tools/call', info?: string): string =>
  newerResponse(response(`"result":${result}`), { method, idText: '1' }, info).text;

test('a result says that it is complete, and who has made it', () => {
  expect(newer('{"content":[],"n":9007199254740993}')).toBe(
    response('"result":{"resultType":"complete","content":[],"n":9007199254740993}'),
  );
  expect(newer('{}', 'tools/call', '{"name":"s"}')).toBe(
    response('"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}'),
  );
  expect(newer('{"_meta":{"a":1},"x":2}', 'tools/call', '{"name":"s"}')).toBe(
    response(
      '"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"a":1},"x":2}',
    ),
  );
});

test.for(['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read'])(
  'nobody keeps what a session was told: %s',
  (method) => {
    expect(newer('{"x":1}', method)).toBe(
      response('"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","x":1}'),
    );
  },
);

test('what an older server means by the newer names is nothing', () => {
  expect(newer('{"resultType":"input_required","ttlMs":9,"cacheScope":"public","x":1}')).toBe(
    response('"result":{"resultType":"complete","x":1}'),
  );
});

test('a tool that only runs as a task is not listed', () => {
  const tools = '{"name":"a"},{"name":"b","execution":{"taskSupport":"optional"}}';
  expect(newer(`{"tools":[${tools},{"name":"c","execution":{"taskSupport":"required"}}]}`, 'tools/list')).toBe(
    response(`"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[${tools}]}`),
  );
});

test.for([
  [-32002, -32602, 200],
  [-32601, -32601, 404],
  [-32602, -32602, 200],
  [7, 7, 200],
] as const)('the error %d is %d, with HTTP %d', ([code, shown, status]) => {
  const error = (one: number): string => response(`"error":{"code":${one},"message":"no"}`);
  expect(newerResponse(error(code), { method: 'resources/read', idText: '1' }, '{}')).toEqual({
    text: error(shown),
    status,
  });
});

test.for(['null', '[]', '"x"'])('a result that is no object stays: %s', (result) => {
  expect(newer(result)).toBe(response(`"result":${result}`));
});

test.for<[string, string]>([
  ['{"jsonrpc":"2.0","id":"own","result":null}', '{"jsonrpc":"2.0","id":9007199254740993,"result":null}'],
  ['{"result":{},"id":7}', '{"result":{"resultType":"complete"},"id":9007199254740993}'],
  ['{"result":{}}', '{"id":9007199254740993,"result":{"resultType":"complete"}}'],
  ['{"error":{"code":1}}', '{"id":9007199254740993,"error":{"code":1}}'],
  ['{"i\\u0064":1,"error":{"code":1}}', '{"i\\u0064":9007199254740993,"error":{"code":1}}'],
])('has the id of the request: %s', ([said, shown]) => {
  const request = { method: 'tools/call', idText: '9007199254740993' };
  expect(newerResponse(said, request, undefined).text).toBe(shown);
});
