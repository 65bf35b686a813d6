import { describe, expect, test } from 'vitest';
import { bodyOf, credentialHeaders, credentialKey, identityOf, newerHeaders, newerRequest } from './newer-request.ts';

const client = identityOf('{"clientInfo":{"name":"c","version":"1"},"capabilities":{"sampling":{}}}');
const newer = (text: string, parts: Partial<Parameters<typeof newerRequest>[1]> = {}): string =>
  newerRequest(text, { client, logLevel: undefined, ...parts });
const META =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},' +
  '"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}';

describe('who asks', () => {
  const asksOf = (capabilities: unknown): ReturnType<typeof identityOf>['asks'] =>
    identityOf(JSON.stringify({ capabilities })).asks;
  const nothing = { elicitation: false, elicitationUrl: false, sampling: false, roots: false };

  test.for([
    [{}, nothing],
    [{ elicitation: {} }, { ...nothing, elicitation: true }],
    [{ elicitation: { form: {} } }, { ...nothing, elicitation: true }],
    [{ elicitation: { url: {} } }, { ...nothing, elicitationUrl: true }],
    [{ elicitation: { form: {}, url: {} } }, { ...nothing, elicitation: true, elicitationUrl: true }],
    [
      { sampling: {}, roots: { listChanged: true } },
      { ...nothing, sampling: true, roots: true },
    ],
    [{ elicitation: true, sampling: 'yes', roots: [] }, nothing],
    [null, nothing],
  ] as const)('can be asked what it offers: %j', ([capabilities, asks]) => {
    expect(asksOf(capabilities)).toEqual(asks);
  });

  test('says what can be relayed, and nothing else', () => {
    const capabilities = {
      roots: { listChanged: true },
      sampling: { tools: {} },
      tasks: { requests: {} },
      other: {},
      extensions: { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/ui': { a: 1 } },
      experimental: { x: { y: 1 } },
    };
    expect(JSON.parse(identityOf(JSON.stringify({ capabilities })).capabilities)).toEqual({
      roots: {},
      sampling: { tools: {} },
      extensions: { 'io.modelcontextprotocol/ui': { a: 1 } },
      experimental: { x: { y: 1 } },
    });
  });

  test.for(['{}', '{"clientInfo":"c"}', '{"clientInfo":null}'])('has a name in any case: %s', (params) => {
    expect(JSON.parse(identityOf(params).info)).toEqual({ name: 'unknown', version: '0' });
  });
});

describe('a request of the newer revision', () => {
  test('is what the client wrote, and who asks', () => {
    const text =
      '{"id":9007199254740993,"jsonrpc":"2.0","x":1e400,"method":"tools/call","params":{"name":"\\u0061","arguments":{"n":0.10}}}';
    expect(newer(text)).toBe(
      `{"id":9007199254740993,"jsonrpc":"2.0","x":1e400,"method":"tools/call","params":{"_meta":{${META}},"name":"\\u0061","arguments":{"n":0.10}}}`,
    );
  });

  test('also without parameters', () => {
    expect(newer('{"jsonrpc":"2.0","id":1,"method":"a"} ')).toBe(
      `{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{${META}}}} `,
    );
    expect(newer('{"jsonrpc":"2.0","id":1,"method":"a","params":{}}')).toContain(`"params":{"_meta":{${META}}}}`);
  });

  test('keeps what extensions and traces say in _meta, and nothing that is the protocol’s', () => {
    const own = ['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'subscriptionId', 'serverInfo'];
    const meta = Object.fromEntries(own.map((name) => [`io.modelcontextprotocol/${name}`, 'forged']));
    const kept = { 'io.modelcontextprotocol/ui': 1, traceparent: 't', progressToken: 7, 'example.com/x': [null] };
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'a', params: { _meta: { ...meta, ...kept } } });
    const { params } = JSON.parse(newer(text, { logLevel: '"info"' })) as { params: { _meta: unknown } };
    expect(params._meta).toEqual({
      ...kept,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
      'io.modelcontextprotocol/logLevel': 'info',
    });
  });

  test('carries no rounds of the client’s own, and no task', () => {
    const params = { inputResponses: { a: 1 }, requestState: 's', task: { ttl: 1 }, name: 'n' };
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(Object.keys((JSON.parse(newer(text)) as { params: object }).params)).toEqual(['_meta', 'name']);
  });

  test('carries answers and the state as they were written, and a token of its own', () => {
    const text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"n"}}';
    const inputResponses = new Map([
      ['a"', '{ "n":9007199254740993 }'],
      ['__proto__', '{}'],
    ]);
    expect(newer(text, { inputResponses, requestState: '"\\u0073"', progressToken: '"own"' })).toBe(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{${META},"progressToken":"own"},` +
        `"inputResponses":{"a\\"":{ "n":9007199254740993 },"__proto__":{}},"requestState":"\\u0073","name":"n"}}`,
    );
  });
});

describe('its headers', () => {
  const headers = ['accept', 'text/event-stream', 'Authorization', 'a', 'MCP-Protocol-Version', '2025-11-25'];
  const message = { kind: 'request', idText: '1', method: 'tools/call' } as const;
  const post = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream'];

  test('are those of a POST with credentials, and say what stands in the body', () => {
    const params = { name: 'ä', arguments: { region: ' eu', count: 3, deep: { on: true } } };
    const declared = [
      { header: 'mcp-param-region', path: ['region'] },
      { header: 'mcp-param-count', path: ['count'] },
      { header: 'mcp-param-on', path: ['deep', 'on'] },
      { header: 'mcp-param-none', path: ['none'] },
    ];
    const sent = [...headers, 'Mcp-Param-Region', 'forged', 'mcp-name', 'forged', 'Last-Event-ID', '7'];
    expect(newerHeaders(sent, { ...message, params }, declared)).toEqual([
      ...post,
      'Authorization',
      'a',
      'mcp-protocol-version',
      '2026-07-28',
      'mcp-method',
      'tools/call',
      'mcp-name',
      '=?base64?w6Q=?=',
      'mcp-param-region',
      '=?base64?IGV1?=',
      'mcp-param-count',
      '3',
      'mcp-param-on',
      'true',
    ]);
  });

  test('of a stream are those of a POST as well', () => {
    expect(credentialHeaders(headers)).toEqual([...post, 'Authorization', 'a']);
  });

  test('who sends them is the same, whichever request it is', () => {
    const key = credentialKey(['Authorization', 'a']);
    expect(credentialKey([...headers, 'traceparent', '1', 'Baggage', 'b', 'x-request-id', '2'])).toBe(key);
    expect(credentialKey(['Authorization', 'b'])).not.toBe(key);
    expect(credentialKey(['x-other', 'a'])).not.toBe(key);
  });
});

test('a body of one message', () => {
  const message = { kind: 'request', method: 'a', params: {}, idText: '1' } as const;
  expect(bodyOf(message, '{"ä":1}')).toEqual({
    bytes: Buffer.from('{"ä":1}'),
    text: '{"ä":1}',
    messages: [message],
    batch: false,
  });
});
