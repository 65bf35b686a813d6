import type { IncomingHttpHeaders } from 'node:http';

import { describe, expect, test } from 'vitest';

import { HeaderForwarding, mayForward, responseHeaders } from './headers.ts';

/** Names and values in turn, as an object with lower-case names. Fails on a header that occurs twice. */
function asObject(raw: readonly string[]): Record<string, string> {
  const out: Record<string, string> = {};
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    if (name in out) throw new Error(`${name} occurs twice`);
    out[name] = raw[i + 1] ?? '';
  }
  return out;
}

const forwarding = (rules: { staticHeaders?: Record<string, string>; passthrough?: string[] } = {}): HeaderForwarding =>
  new HeaderForwarding({ staticHeaders: {}, passthrough: [], userAgent: 'mcp-adapter/1', ...rules });

/** All that a client may send, with headers that must stay here among them. */
const CLIENT = {
  accept: '*/*',
  authorization: 'Bearer client',
  'content-length': '5',
  'content-type': 'application/json; charset=utf-8',
  cookie: 'a=b',
  expect: '100-continue',
  forwarded: 'for=1.2.3.4',
  host: 'adapter.example',
  'keep-alive': 'timeout=5',
  'last-event-id': '7',
  'mcp-method': 'tools/call',
  'mcp-name': 'a',
  'mcp-param-region': 'eu',
  'mcp-protocol-version': '2025-11-25',
  'mcp-session-id': 'downstream',
  'mcp-unknown': 'x',
  origin: 'https://evil.example',
  'proxy-authorization': 'Basic x',
  te: 'trailers',
  'transfer-encoding': 'chunked',
  upgrade: 'websocket',
  'user-agent': 'client/1',
  'x-forwarded-for': '1.2.3.4',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'https',
  'x-mcp-adapter-auth-token': 'secret',
  'x-request-id': '1',
  'x-tenant': 'blue',
};

describe('the key of a client', () => {
  const listed = forwarding({ passthrough: ['Authorization', 'X-Tenant', 'traceparent', 'X-Request-ID'] });

  test('differs where a header that goes upstream does', () => {
    const key = listed.clientKey(CLIENT);
    expect(key).not.toBe('');
    expect(key).not.toContain('client');
    expect(listed.clientKey({ ...CLIENT, cookie: 'c=d', 'user-agent': 'client/2' })).toBe(key);
    for (const other of [{ authorization: 'Bearer other' }, { authorization: undefined }, { 'x-tenant': '' }])
      expect(listed.clientKey({ ...CLIENT, ...other })).not.toBe(key);
    expect(listed.clientKey({ authorization: 'a' })).not.toBe(listed.clientKey({ 'x-tenant': 'a' }));
  });

  test('is the same for all requests of one client', () => {
    const ids = (n: number) => ({ ...CLIENT, traceparent: `00-${n}`, 'x-request-id': `${n}` });
    expect(listed.clientKey(ids(1))).toBe(listed.clientKey(ids(2)));
  });

  test('is empty where nothing of the client goes upstream', () => {
    expect(forwarding().clientKey(CLIENT)).toBe('');
    expect(listed.clientKey({ 'x-tenant': '', traceparent: '00-1', accept: '*/*' })).toBe('');
  });
});

describe('a request upstream', () => {
  test('takes nothing of the client but the protocol version', () => {
    expect(asObject(forwarding().forward('POST', CLIENT, false))).toEqual({
      'user-agent': 'mcp-adapter/1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    });
    expect(asObject(forwarding().forward('GET', CLIENT, false))).toEqual({
      'user-agent': 'mcp-adapter/1',
      accept: 'text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    });
    expect(asObject(forwarding().forward('DELETE', CLIENT, false))).toEqual({
      'user-agent': 'mcp-adapter/1',
      'mcp-protocol-version': '2025-11-25',
    });
    expect(asObject(forwarding().forward('POST', {}, false))).not.toHaveProperty('mcp-protocol-version');
  });

  test('of the sessionless revision takes the headers that repeat its body', () => {
    expect(asObject(forwarding().forward('POST', CLIENT, true))).toEqual({
      'user-agent': 'mcp-adapter/1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      'mcp-method': 'tools/call',
      'mcp-name': 'a',
      'mcp-param-region': 'eu',
    });
  });

  test('takes the headers that are listed, whatever their case, with the value of this request', () => {
    const own = forwarding({ passthrough: ['X-Tenant', 'Authorization', 'X-Absent', 'X-Empty'] });
    expect(asObject(own.base('POST', { ...CLIENT, 'x-empty': '' }))).toEqual({
      'user-agent': 'mcp-adapter/1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-tenant': 'blue',
      authorization: 'Bearer client',
    });
    expect(asObject(own.base('POST', { 'x-tenant': 'red' }))).toMatchObject({ 'x-tenant': 'red' });
  });

  test('carries the static headers as they are written', () => {
    const own = forwarding({ staticHeaders: { 'X-Api-Key': 'k 1', authorization: 'Bearer static' } });
    expect(own.base('DELETE', CLIENT)).toEqual([
      'X-Api-Key',
      'k 1',
      'authorization',
      'Bearer static',
      'user-agent',
      'mcp-adapter/1',
    ]);
    expect(own.base('DELETE', undefined)).toEqual(own.base('DELETE', CLIENT));
  });

  test('carries the client’s value instead of the static one, where it may pass and was sent', () => {
    const own = forwarding({ staticHeaders: { Authorization: 'Bearer static' }, passthrough: ['authorization'] });
    expect(asObject(own.base('POST', CLIENT))).toMatchObject({ authorization: 'Bearer client' });
    expect(asObject(own.base('POST', {}))).toMatchObject({ authorization: 'Bearer static' });
    expect(asObject(own.base('POST', { authorization: '' }))).toMatchObject({ authorization: 'Bearer static' });
    expect(asObject(own.base('POST', undefined))).toMatchObject({ authorization: 'Bearer static' });
    const fixed = forwarding({ staticHeaders: { Authorization: 'Bearer static' } });
    expect(asObject(fixed.base('POST', CLIENT))).toMatchObject({ authorization: 'Bearer static' });
  });

  test('names itself unless the configuration says how', () => {
    const named = forwarding({ staticHeaders: { 'User-Agent': 'own/2' } });
    expect(asObject(named.base('POST', CLIENT))).toMatchObject({ 'user-agent': 'own/2' });
    const passed = forwarding({ passthrough: ['User-Agent'] });
    expect(asObject(passed.base('POST', CLIENT))).toMatchObject({ 'user-agent': 'client/1' });
    expect(asObject(passed.base('POST', {}))).toMatchObject({ 'user-agent': 'mcp-adapter/1' });
  });
});

test('T4: headers of the connection, of the adapter and of the protocol may never be listed', () => {
  const allowed = Object.keys(CLIENT).filter((name) => mayForward(name, 'X-Mcp-Adapter-Auth-Token'));
  expect(allowed).toEqual(['accept', 'authorization', 'user-agent', 'x-request-id', 'x-tenant']);
  expect(mayForward('COOKIE', 'x')).toBe(false);
  expect(mayForward('MCP-Session-Id', 'x')).toBe(false);
  expect(mayForward('Authorization', 'authorization')).toBe(false);
});

describe('an answer to the client', () => {
  const upstream = {
    'content-type': 'application/json',
    'content-length': '99',
    'mcp-session-id': 'upstream',
    'set-cookie': ['a=b'],
    server: 'x',
    'access-control-allow-origin': '*',
    'retry-after': '3',
    'www-authenticate': 'Bearer realm="x"',
    allow: 'GET',
    location: 'https://elsewhere.example',
    'x-anything': '1',
  };
  const head = (status: number, headers: IncomingHttpHeaders = upstream) => ({
    status,
    headers,
    upstreamSessionId: 'upstream',
  });

  test('has the session of the adapter and nothing else of the upstream', () => {
    expect(responseHeaders(head(200), 'downstream', 12)).toEqual({
      'content-type': 'application/json',
      'content-length': 12,
      'mcp-session-id': 'downstream',
    });
    expect(responseHeaders(head(202, {}), undefined, undefined)).toEqual({});
  });

  test('says what a client can do about an error', () => {
    expect(responseHeaders(head(401), undefined, 5)).toEqual({
      'content-type': 'application/json',
      'content-length': 5,
      'retry-after': '3',
      'www-authenticate': 'Bearer realm="x"',
      allow: 'GET',
    });
  });

  test.each([400, 404, 429, 503])('T4: passes no challenge on with status %i', (status) => {
    expect(responseHeaders(head(status), undefined, 5)).not.toHaveProperty('www-authenticate');
    expect(responseHeaders(head(403), undefined, 5)).toHaveProperty('www-authenticate');
  });

  test.each([
    ['0', '1'],
    ['9467280000', '3600'],
    [new Date(Date.now() + 600_000_000).toUTCString(), '3600'],
    [new Date(0).toUTCString(), '1'],
    ['soon', undefined],
  ])('L6: lets clients wait for an hour at most: %s', (retryAfter, seconds) => {
    expect(responseHeaders(head(503, { 'retry-after': retryAfter }), undefined, 0)['retry-after']).toBe(seconds);
  });

  test('that is a stream has no length, and is neither cached nor buffered', () => {
    expect(responseHeaders(head(200, { 'content-type': 'text/event-stream; charset=utf-8' }), 's', '99')).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'mcp-session-id': 's',
    });
  });
});
