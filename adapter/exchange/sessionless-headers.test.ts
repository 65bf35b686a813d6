import { describe, expect, test } from 'vitest';

import {
  decodeHeader,
  headerMismatch,
  isSessionless,
  parameterHeaders,
  parameterMismatch,
  undeclaredParameter,
} from './sessionless-headers.ts';
import type { Message } from './message.ts';

const VERSION = '2026-07-28';
const META = { 'io.modelcontextprotocol/protocolVersion': VERSION };
const request = (method: string, params: Record<string, unknown> = {}): Message => ({
  kind: 'request',
  method,
  params: { _meta: META, ...params },
  idText: '1',
});
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

test.each<[string, string | undefined]>([
  ['plain', 'plain'],
  ['', ''],
  [encoded('naïve 😀'), 'naïve 😀'],
  [encoded(' spaces '), ' spaces '],
  [encoded(encoded('x')), encoded('x')],
  ['=?base64??=', ''],
  ['=?base64?/w==?=', undefined],
  // Only the whole value counts, and only this encoding.
  ['x=?base64?YQ==?=', 'x=?base64?YQ==?='],
  ['=?utf-8?q?a?=', '=?utf-8?q?a?='],
  ['=?base64?Y*Q=?=', '=?base64?Y*Q=?='],
])('the header value %s means %s', (value, expected) => {
  expect(decodeHeader(value)).toBe(expected);
});

test.each<[string, Message, Record<string, string>, boolean]>([
  ['the body says so', request('m'), {}, true],
  [
    'the header says so',
    { kind: 'request', method: 'm', params: {}, idText: '1' },
    { 'mcp-protocol-version': VERSION },
    true,
  ],
  [
    'a later revision',
    { kind: 'request', method: 'm', params: {}, idText: '1' },
    { 'mcp-protocol-version': '2027-01-01' },
    true,
  ],
  [
    'an earlier one',
    { kind: 'request', method: 'm', params: {}, idText: '1' },
    { 'mcp-protocol-version': '2025-11-25' },
    false,
  ],
  ['none', { kind: 'request', method: 'm', params: {}, idText: '1' }, {}, false],
  ['nonsense', { kind: 'request', method: 'm', params: {}, idText: '1' }, { 'mcp-protocol-version': 'zzz' }, false],
  [
    'too much',
    { kind: 'request', method: 'm', params: {}, idText: '1' },
    { 'mcp-protocol-version': '2026-07-28x' },
    false,
  ],
])('whether a message is sessionless: %s', (_name, message, headers, expected) => {
  expect(isSessionless(message, headers)).toBe(expected);
});

describe('headerMismatch', () => {
  const base = { 'mcp-protocol-version': VERSION };

  test.each<[string, Record<string, unknown>, string]>([
    ['tools/call', { name: 'a' }, 'a'],
    ['prompts/get', { name: 'p' }, 'p'],
    ['resources/read', { uri: 'test://x' }, 'test://x'],
    ['tasks/get', { taskId: 't' }, 't'],
    ['tasks/update', { taskId: 't' }, 't'],
    ['tasks/cancel', { taskId: 't' }, 't'],
  ])('compares the name of %s', (method, params, name) => {
    const headers = { ...base, 'mcp-method': method };
    expect(headerMismatch(request(method, params), { ...headers, 'mcp-name': name })).toBeUndefined();
    expect(headerMismatch(request(method, params), { ...headers, 'mcp-name': encoded(name) })).toBeUndefined();
    expect(headerMismatch(request(method, params), headers)).toBe('The Mcp-Name header is missing.');
    for (const other of [`${name}x`, '', encoded('other'), name.toUpperCase(), '=?base64?/w==?=']) {
      expect(headerMismatch(request(method, params), { ...headers, 'mcp-name': other })).toContain(
        'does not match params.',
      );
    }
  });

  test('asks for no name where there is none', () => {
    expect(headerMismatch(request('tools/list'), { ...base, 'mcp-method': 'tools/list' })).toBeUndefined();
    expect(headerMismatch(request('tools/call', { name: 7 }), { ...base, 'mcp-method': 'tools/call' })).toBeUndefined();
  });

  test.each([7, null, undefined, ['a'], { a: 1 }])('T14: a header names nothing that the body names as %j', (name) => {
    const headers = { ...base, 'mcp-method': 'tools/call', 'mcp-name': 'a' };
    expect(headerMismatch(request('tools/call', { name }), headers)).toBe(
      'The Mcp-Name header is sent, but params.name is no text.',
    );
  });

  test.each<[string, Record<string, string>, string]>([
    ['no version', { 'mcp-method': 'tools/list' }, 'MCP-Protocol-Version header is missing'],
    [
      'another version',
      { 'mcp-protocol-version': '2026-07-29', 'mcp-method': 'tools/list' },
      'MCP-Protocol-Version header says',
    ],
    ['no method', base, 'Mcp-Method header is missing'],
    ['another method', { ...base, 'mcp-method': 'tools/call' }, 'Mcp-Method header says tools/call'],
    ['a method in other letters', { ...base, 'mcp-method': 'Tools/List' }, 'Mcp-Method header says'],
    ['two methods', { ...base, 'mcp-method': 'tools/list, tools/call' }, 'Mcp-Method header says'],
  ])('says what is wrong: %s', (_name, headers, expected) => {
    expect(headerMismatch(request('tools/list'), headers)).toContain(expected);
  });

  test('T14: notifications need no headers, but those that they have must be right', () => {
    const notification: Message = { kind: 'notification', method: 'n', params: { _meta: META } };
    expect(headerMismatch(notification, {})).toBeUndefined();
    expect(headerMismatch(notification, { 'mcp-method': 'n' })).toBeUndefined();
    expect(headerMismatch(notification, { 'mcp-method': 'tools/call' })).toContain('says tools/call, the body says n');
  });

  test('T14: a parameter header that nothing declares is told', () => {
    const declared = [{ header: 'mcp-param-region', path: ['region'] }];
    expect(undeclaredParameter({ 'mcp-param-region': 'a', 'x-other': 'b' }, declared)).toBeUndefined();
    expect(undeclaredParameter({ 'mcp-param-zone': 'a' }, declared)).toContain('mcp-param-zone');
    expect(undeclaredParameter({ 'mcp-param-region': 'a' }, [])).toContain('mcp-param-region');
  });
});

const SCHEMA = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    nested: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
    plain: { type: 'string' },
    list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Items' } },
    broken: { 'x-mcp-header': 7 },
    nothing: null,
  },
  $defs: { x: { properties: { y: { 'x-mcp-header': 'Defs' } } } },
  anyOf: [{ properties: { z: { 'x-mcp-header': 'AnyOf' } } }],
};

describe('parameterHeaders', () => {
  test('are found through properties only', () => {
    expect(parameterHeaders(SCHEMA)).toEqual([
      { header: 'mcp-param-region', path: ['region'] },
      { header: 'mcp-param-count', path: ['nested', 'count'] },
      { header: 'mcp-param-flag', path: ['flag'] },
    ]);
  });

  test.each([undefined, null, 1, 'x', [], {}, { properties: 7 }, { properties: null }])('of %j are none', (schema) => {
    expect(parameterHeaders(schema)).toEqual([]);
  });

  test('are not sought for ever in a schema of any depth', () => {
    let schema: unknown = { 'x-mcp-header': 'Deep' };
    for (let i = 0; i < 100_000; i++) schema = { properties: { a: schema } };
    expect(parameterHeaders(schema)).toEqual([]);
  });
});

describe('parameterMismatch', () => {
  const declared = parameterHeaders(SCHEMA);
  const all = { 'mcp-param-region': 'eu', 'mcp-param-count': '3', 'mcp-param-flag': 'true' };
  const args = { region: 'eu', nested: { count: 3 }, flag: true, plain: 'x' };

  test.each<[string, unknown, Record<string, string>]>([
    ['they agree', args, all],
    ['they are encoded', args, { ...all, 'mcp-param-region': encoded('eu') }],
    ['numbers are compared as such', args, { ...all, 'mcp-param-count': '3.0' }],
    ['null and absent need none', { region: null, nested: {} }, {}],
    [
      'what is no single value is not compared',
      { region: ['eu'], nested: { count: 3 }, flag: true },
      { ...all, 'mcp-param-region': 'x' },
    ],
    ['no arguments at all', undefined, {}],
    ['unknown headers are others’ business', args, { ...all, 'mcp-param-other': 'x' }],
  ])('has nothing against a call: %s', (_name, given, headers) => {
    expect(parameterMismatch(given, headers, declared)).toBeUndefined();
  });

  test.each<[string, unknown, Record<string, string>, string]>([
    [
      'one is missing',
      args,
      { 'mcp-param-region': 'eu', 'mcp-param-flag': 'true' },
      'mcp-param-count header is missing',
    ],
    ['another value', args, { ...all, 'mcp-param-region': 'us' }, 'does not match region'],
    ['another number', args, { ...all, 'mcp-param-count': '4' }, 'does not match nested.count'],
    ['no number', { ...args, nested: { count: 0 } }, { ...all, 'mcp-param-count': '' }, 'does not match nested.count'],
    ['another boolean', args, { ...all, 'mcp-param-flag': 'TRUE' }, 'does not match flag'],
    ['a header without its argument', {}, { 'mcp-param-region': 'eu' }, 'is sent, but region is not'],
    ['a header for null', { region: null }, { 'mcp-param-region': 'null' }, 'is sent, but region is not'],
    ['a broken encoding', args, { ...all, 'mcp-param-region': '=?base64?/w==?=' }, 'does not match region'],
  ])('says what is wrong: %s', (_name, given, headers, expected) => {
    expect(parameterMismatch(given, headers, declared)).toContain(expected);
  });
});
