import { describe, expect, test } from 'vitest';
import { olderResponse } from './older-result.ts';

const response = (rest: string): string => `{"jsonrpc":"2.0","id":9007199254740993,${rest}}`;
const older = (result: string, method = 'tools/call'): string => olderResponse(response(`"result":${result}`), method);

describe('a result as older clients read it', () => {
  test('without what they do not know', () => {
    expect(
      older(
        '{ "resultType":"complete","ttlMs":5,"cacheScope":"private","content":[ {"n":1e400} ],"x":9007199254740993,' +
          '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"a":1}}',
      ),
    ).toBe(response('"result":{"content":[ {"n":1e400} ],"x":9007199254740993,"_meta":{"a":1}}'));
  });

  test('without what is empty then', () => {
    expect(older('{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete"}')).toBe(
      response('"result":{}'),
    );
  });

  test.for([
    ['[1]', undefined],
    ['"a"', undefined],
    ['null', undefined],
    ['{"a":[1]}', '{"a":[1]}'],
  ])('structured content is an object: %s', ([value, kept]) => {
    const shown = kept === undefined ? '' : `,"structuredContent":${kept}`;
    expect(older(`{"content":[],"structuredContent":${value}}`)).toBe(response(`"result":{"content":[]${shown}}`));
  });

  test('of another method has what it has', () => {
    expect(older('{"structuredContent":[1],"tools":1}', 'prompts/get')).toBe(
      response('"result":{"structuredContent":[1],"tools":1}'),
    );
  });

  test.for(['null', '[]', '"x"', '7'])('that is no object stays: %s', (result) => {
    expect(older(result)).toBe(response(`"result":${result}`));
  });
});

describe('a list of tools', () => {
  const listed = (...tools: string[]): string => older(`{"tools":[${tools.join(',')}]}`, 'tools/list');
  const tool = (inputSchema: unknown): string => JSON.stringify({ name: 't', inputSchema });
  const property = (schema: unknown, name = 'a'): unknown => ({ type: 'object', properties: { [name]: schema } });
  const none = response('"result":{"tools":[]}');

  test.for([
    ['{"type":"object","n":9007199254740993}', true],
    ['{"type":"array"}', false],
    ['{"anyOf":[]}', false],
    ['true', false],
  ] as const)('output schemas describe objects: %s', ([schema, isKept]) => {
    const shown = isKept ? `,"outputSchema":${schema}` : '';
    expect(listed(`{"name":"t","outputSchema":${schema}}`)).toBe(response(`"result":{"tools":[{"name":"t"${shown}}]}`));
  });

  test.for([
    property({ type: 'string', 'x-mcp-header': 'Region' }),
    property(property({ type: 'integer', 'x-mcp-header': 'Region' })),
    {
      type: 'object',
      properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'boolean', 'x-mcp-header': 'B' } },
    },
  ])('keeps tools with headers that can be sent: %j', (schema) => {
    expect(listed(tool(schema))).toBe(response(`"result":{"tools":[${tool(schema)}]}`));
  });

  test.for([
    property({ type: 'string', 'x-mcp-header': '' }),
    property({ type: 'string', 'x-mcp-header': 'a b' }),
    property({ type: 'string', 'x-mcp-header': 'a\r\nx' }),
    property({ type: 'string', 'x-mcp-header': 7 }),
    property({ type: 'object', 'x-mcp-header': 'A' }),
    property({ 'x-mcp-header': 'A' }),
    {
      type: 'object',
      properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
    },
    property({ type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } }),
    { type: 'object', anyOf: [property({ type: 'string', 'x-mcp-header': 'A' })] },
  ])('drops tools with headers that cannot: %j', (schema) => {
    expect(listed(tool(schema))).toBe(none);
  });

  test('tools that are none stay what they are', () => {
    expect(listed('null', '7', '{}')).toBe(response('"result":{"tools":[null,7,{}]}'));
    expect(older('{"tools":{"a":1}}', 'tools/list')).toBe(none);
  });
});

describe('an error', () => {
  const failed = (error: string, method: string): string => olderResponse(response(`"error":${error}`), method);

  test('of a resource that there is not has the code it had', () => {
    expect(failed('{"code":-32602,"message":"m","data":{"uri":"a"}}', 'resources/read')).toBe(
      response('"error":{"code":-32002,"message":"m","data":{"uri":"a"}}'),
    );
  });

  test.for([
    ['resources/read', '{"code":-32602,"message":"m"}'],
    ['resources/read', '{"code":-32603,"data":{"uri":"a"}}'],
    ['prompts/get', '{"code":-32602,"data":{"uri":"a"}}'],
  ] as const)('of %s stays: %s', ([method, error]) => {
    expect(failed(error, method)).toBe(response(`"error":${error}`));
  });
});
