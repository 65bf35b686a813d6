import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { ByteAccount } from '../byte-account.ts';
import { sampleAccount } from '../testing/sample-account.ts';
import { type GatewayServer, startGatewayServer } from '../gateway/testing/gateway-server.ts';

/** Nothing here gets as far as the upstream. */
const UPSTREAM = 'http://127.0.0.1:9/mcp';
const SESSION = '0123456789abcdef'.repeat(2);
const PING = '{"jsonrpc":"2.0","id":"seven","method":"ping"}';

let account: ByteAccount;
let at: GatewayServer;
const held = (): number | undefined => new Map(account.byKind()).get('bodies');
const sockets: Socket[] = [];

beforeEach(async () => {
  account = sampleAccount({ kinds: { bodies: 1_000_000 } });
  const server = { upstream: { client_headers: { required: ['X-User'] } } };
  at = await startGatewayServer(UPSTREAM, server, undefined, {
    account,
    token: 'right',
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await at[Symbol.asyncDispose]();
  await expect.poll(() => account.held).toBe(0);
});

/** Sends the head of a POST and a part of its body. */
function post(headers: Record<string, string>, part = ''): Socket {
  const { hostname, port, pathname } = new URL(at.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => undefined);
  const all = { Host: 'localhost', 'Content-Type': 'application/json', 'X-Token': 'right', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${part}`);
  return socket;
}

const whole = (body: string, headers: Record<string, string> = {}): Promise<string> =>
  text(post({ 'X-User': 'u', 'Content-Length': String(body.length), Connection: 'close', ...headers }, body));

/** The answer to who goes on sending: it must come before the end of the body, and the connection with it. */
async function early(headers: Record<string, string>, part = ''): Promise<string> {
  const socket = post(headers, part);
  let seen = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    seen += chunk;
    if (seen.includes('}}}')) resolve();
  });
  await promise;
  const closed = new Promise((done) => socket.once('close', done));
  socket.end();
  await closed;
  expect(seen.toLowerCase()).toContain('\r\nconnection: close\r\n');
  return seen;
}

describe('T17: a large body is not read', () => {
  const LARGE = { 'Content-Length': '900000' };

  test.each<[string, Record<string, string>, number, string]>([
    ['of a session that is unknown', { 'X-User': 'u', 'Mcp-Session-Id': SESSION }, 404, 'session_not_found'],
    ['without a header that is required', { 'Mcp-Session-Id': SESSION }, 400, 'missing_client_header'],
    ['without a session', { 'X-User': 'u' }, 413, 'body_too_large'],
    ['without the token', { 'X-User': 'u', 'X-Token': 'wrong' }, 401, 'unauthorized'],
    ['of another type', { 'X-User': 'u', 'Content-Type': 'text/plain' }, 415, 'unsupported_media_type'],
  ])('%s', async (_what, headers, status, code) => {
    const answer = await early({ ...LARGE, ...headers }, '{"jsonrpc"');
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(`"id":null,"error":`);
    expect(answer).toContain(`"code":"${code}"`);
  });

  test('in chunks, as soon as it shows to be large', async () => {
    const chunk = 'x'.repeat(70_000);
    const headers = { 'X-User': 'u', 'Mcp-Session-Id': SESSION, 'Transfer-Encoding': 'chunked' };
    const answer = await early(headers, `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    expect(answer).toContain('"code":"session_not_found"');
  });

  test('when the bodies of all take up the room that there is', async () => {
    const modern = { 'X-User': 'u', 'MCP-Protocol-Version': '2026-07-28', ...LARGE };
    const first = post(modern, 'x'.repeat(120_000));
    await expect.poll(held).toBe(120_000);
    const answer = await early(modern, 'x'.repeat(80_000));
    expect(answer).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n/s);
    expect(answer).toContain('"code":"overloaded"');
    first.destroy();
    await expect.poll(held).toBe(0);
    expect(await whole(PING)).toContain('"id":"seven"');
  });
});

test('H2 T17: so many requests may be under way, and those beyond it are refused until one has left', async () => {
  await at[Symbol.asyncDispose]();
  // Two of 32 KiB.
  account = sampleAccount({ total: 70_000 });
  at = await startGatewayServer(UPSTREAM, {}, undefined, { account });
  const begun = [post({ 'Content-Length': '46' }, '{'), post({ 'Content-Length': '46' }, '{')];
  const requests = (): number | undefined => new Map(account.byKind()).get('requests');
  await expect.poll(requests).toBe(2 * 32 * 1024);
  const refused = await whole(PING);
  expect(refused).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n/s);
  expect(refused).toContain('Too many requests are under way');
  begun[0]?.destroy();
  await expect.poll(requests).toBe(32 * 1024);
  expect(await whole(PING)).toContain('"id":"seven"');
});

describe('M1 T17: bodies that never end', () => {
  test('take no more than there is room for, are refused beyond it, and give all of it back', async () => {
    await at[Symbol.asyncDispose]();
    account = sampleAccount({ total: 2_000_000, perServer: 1_000_000 });
    at = await startGatewayServer(UPSTREAM, {}, undefined, { account });
    const modern = { 'MCP-Protocol-Version': '2026-07-28', 'Content-Length': '200000' };
    let refused = 0;
    let most = 0;
    for (let i = 0; i < 12; i++) {
      const before = account.held;
      post(modern, 'x'.repeat(150_000)).once('data', () => refused++);
      await expect.poll(() => account.held > before + 150_000 || refused > 0).toBe(true);
      most = Math.max(most, account.held);
    }
    await expect.poll(() => refused).toBeGreaterThan(5);
    expect(most).toBeLessThanOrEqual(1_000_000);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => account.held).toBe(0);
  });
});

describe('a refusal', () => {
  test.each([
    ['the token is wrong', { 'X-Token': 'wrong' }, 401, 'unauthorized'],
    ['the page is foreign', { Origin: 'https://evil.example' }, 403, 'forbidden_origin'],
  ])('carries the id of the message where it is there and small: %s', async (_what, headers, status, code) => {
    const answer = await whole(PING, headers);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ id: 'seven', error: { data: { code } } });
  });

  test.each(['{"jsonrpc":"2.0","id":7', '[]', 'x', ''])('carries none where there is none: %j', async (body) => {
    const answer = await whole(body, { 'X-Token': 'wrong' });
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ id: null, error: { code: 401 } });
  });

  test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('comes to every method: %s', async (method) => {
    const answer = await fetch(at.url, { method, headers: { 'x-token': 'wrong', 'x-user': 'u' } });
    expect(answer.status).toBe(401);
  });
});

test('a body that waits to be asked for is asked for, unless the request is refused before', async () => {
  const head = { 'X-User': 'u', 'Content-Length': '46', Expect: '100-continue', Connection: 'close' };
  const allowed = post(head);
  const seen = text(allowed);
  await new Promise((resolve) => allowed.once('data', resolve));
  allowed.write(PING);
  expect(await seen).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 .*"id":"seven"/s);
  expect(await text(post({ ...head, 'X-Token': 'wrong' }))).toMatch(/^HTTP\/1\.1 401 /);
});

test('another method is refused with those that there are', async () => {
  const answer = await fetch(at.url, { method: 'PATCH', body: 'x', headers: { 'x-token': 'right' } });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE']);
});
