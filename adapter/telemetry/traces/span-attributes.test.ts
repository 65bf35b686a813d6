import { describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../../exchange/message.ts';
import { spanSubject, type SpanSubject } from './span-attributes.ts';

const COMMON = {
  'mcp_adapter.server.id': 's1',
  'network.transport': 'tcp',
  'network.protocol.name': 'http',
  'http.request.method': 'POST',
};

function subject(message: object | undefined, more: object = {}): SpanSubject {
  const body = message === undefined ? undefined : (parseBody(Buffer.from(JSON.stringify(message))) as Body);
  return spanSubject(
    {
      serverId: 's1',
      httpMethod: 'POST',
      route: '/mcp/s1',
      body,
      protocolVersion: undefined,
      ...more,
    },
    (text) => text.replaceAll('hunter2', '<redacted>'),
  );
}
const request = (method: string, params?: object, id: unknown = 7): object => ({ jsonrpc: '2.0', id, method, params });

describe('a span', () => {
  test('of a tool call says which, and never with what', () => {
    const params = { name: 'search', arguments: { q: 'private' }, _meta: { x: 'private' } };
    const call = subject(request('tools/call', params), { protocolVersion: '2025-11-25' });
    expect(call).toEqual({
      name: 'tools/call search',
      attributes: {
        ...COMMON,
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2025-11-25',
        'jsonrpc.request.id': '7',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'search',
      },
    });
  });

  test('of a prompt says which', () => {
    const { name, attributes } = subject(request('prompts/get', { name: 'greet', arguments: { q: 'private' } }, 'a"b'));
    expect(name).toBe('prompts/get greet');
    expect(attributes).toEqual({
      ...COMMON,
      'mcp.method.name': 'prompts/get',
      'jsonrpc.request.id': 'a"b',
      'gen_ai.prompt.name': 'greet',
    });
  });

  test('of other methods has their name only', () => {
    const { name, attributes } = subject(request('resources/read', { uri: 'file:///private', name: 'x' }));
    expect(name).toBe('resources/read');
    expect(attributes).toEqual({ ...COMMON, 'mcp.method.name': 'resources/read', 'jsonrpc.request.id': '7' });
    expect(subject({ jsonrpc: '2.0', method: 'notifications/initialized' }).attributes).toEqual({
      ...COMMON,
      'mcp.method.name': 'notifications/initialized',
    });
  });

  test('of a handshake, and of a message without a session, says the revision that it names', () => {
    expect(subject(request('initialize', { protocolVersion: '2025-06-18' })).attributes).toMatchObject({
      'mcp.protocol.version': '2025-06-18',
    });
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    expect(subject(request('ping', { _meta: meta }), { protocolVersion: 'x' }).attributes).toMatchObject({
      'mcp.protocol.version': '2026-07-28',
    });
    expect(subject(request('ping'), { protocolVersion: 'x\ny' }).attributes).not.toHaveProperty('mcp.protocol.version');
  });

  test('of anything else is called as its HTTP request', () => {
    const plain = { name: 'POST /mcp/s1', attributes: COMMON };
    expect(subject({ jsonrpc: '2.0', id: 1, result: { secret: 1 } })).toEqual(plain);
    expect(subject(undefined)).toEqual(plain);
    const batch = [request('ping'), request('tools/call', { name: 't' })];
    expect(subject(batch)).toEqual({ ...plain, attributes: { ...COMMON, 'mcp_adapter.batch.size': 2 } });
  });

  test('holds nothing secret and nothing long', () => {
    const long = `hunter2${'x'.repeat(100_000)}`;
    const { name, attributes } = subject(request(`m${long}`, {}, 'hunter2'));
    expect(JSON.stringify({ name, attributes })).not.toContain('hunter2');
    expect(name).toHaveLength(200);
    const call = subject(request('tools/call', { name: long }));
    expect(call.name).toBe(`tools/call ${String(call.attributes['gen_ai.tool.name'])}`);
    expect(call.attributes['gen_ai.tool.name']).toHaveLength(200);
  });
});
