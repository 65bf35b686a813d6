import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Dispatcher, request } from 'undici';
import type { RecordedRequest } from '../support/raw-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { drain, initialize, openSession, type Place, textOf } from './kit/session.ts';
import { secret } from '../support/secrets/secret.ts';

const TOKEN = secret('token of the clients');
const REQUIRED = { 'x-mcp-adapter-auth-token': TOKEN, 'x-tenant': 'acme' };

describe('headers, through either replica', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const headers = {
      static_headers: { 'X-Static': 'always', 'X-Default': 'ours' },
      client_headers: {
        required: ['X-Tenant', 'x-second'],
        unsafe: true,
        passthrough: ['Authorization', 'x-trace-id', 'X-Default', 'X-Tenant'],
      },
    };
    const config = {
      core: { auth: { enabled: true, token: TOKEN } },
      servers: [mounted('up', upstream.url, { upstream: headers })],
    };
    deployment = await startDeployment({ config });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });
  const open = (place: Place, more: Record<string, string> = {}) =>
    openSession(place, { headers: { ...REQUIRED, 'x-second': '2', ...more } });
  const last = (): RecordedRequest['headers'] => upstream.requests.at(-1)?.headers ?? {};

  test('that are listed follow each request, so that a refreshed token reaches the server', async () => {
    const { a, b } = deployment;
    const session = await open(a, { authorization: 'Bearer one' });
    expect(last()).toMatchObject({ authorization: 'Bearer one' });
    for (const [n, place] of [b, a, b].entries()) {
      const authorization = `Bearer refreshed-${n}`;
      const send = { headers: { authorization, 'X-Trace-ID': `trace-${n}` } };
      await drain(session.at(place).request('tools/call', { name: 'echo' }, send));
      expect(last()).toMatchObject({ authorization, 'x-trace-id': `trace-${n}`, 'x-tenant': 'acme' });
    }
    const client = new AbortController();
    await session.at(b).stream({ headers: { authorization: 'Bearer stream' }, signal: client.signal });
    expect(last()).toMatchObject({ authorization: 'Bearer stream', accept: 'text/event-stream' });
    client.abort();

    // A session that is opened again is opened with the credentials of now.
    upstream.forgetSessions();
    const mark = upstream.requests.length;
    const send = { headers: { authorization: 'Bearer reopened' } };
    expect(await drain(session.at(a).request('tools/call', { name: 'echo' }, send))).toBe(200);
    const sent = upstream.requests.slice(mark).map(({ headers }) => headers.authorization);
    expect([...new Set(sent)]).toEqual(['Bearer reopened']);

    await drain(session.at(b).end({ headers: { authorization: 'Bearer end' } }));
    expect(last()).toMatchObject({ authorization: 'Bearer end', 'x-static': 'always' });
  });

  test('that are static go with every request; one that the client may set and does, goes instead', async () => {
    const { a, b } = deployment;
    const session = await open(a);
    expect(last()).toMatchObject({ 'x-static': 'always', 'x-default': 'ours' });
    const send = { headers: { 'x-default': 'theirs', 'x-static': 'no' } };
    await drain(session.at(b).request('ping', undefined, send));
    expect(last()).toMatchObject({ 'x-static': 'always', 'x-default': 'theirs' });
  });

  test('that are not listed never reach the server, least of all the adapter’s token', async () => {
    const { a, b } = deployment;
    const session = await open(a);
    const sessionId = session.sessionId;
    const port = new URL(b.url).port;
    const secrets = {
      host: `localhost:${port}`,
      origin: `http://localhost:${port}`,
      cookie: 'session=1',
      referer: 'http://localhost/page',
      forwarded: 'for=1.2.3.4',
      'x-forwarded-for': '1.2.3.4',
      'x-forwarded-host': 'public.example.com',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '443',
      'x-real-ip': '1.2.3.4',
      'proxy-authorization': 'Basic eA==',
      te: 'trailers',
      via: '1.1 proxy',
      'user-agent': 'client/1.0',
      'accept-language': 'de',
      'x-other': 'x',
      'mcp-method': 'forged',
      'mcp-param-x': 'forged',
    };
    const headers = {
      ...REQUIRED,
      ...secrets,
      'x-second': '2',
      'mcp-session-id': sessionId,
      'mcp-protocol-version': '2025-11-25',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const mark = upstream.requests.length;
    const url = `${b.url}/mcp/up`;
    const send = async (method: Dispatcher.HttpMethod, body?: string): Promise<void> => {
      const response = await request(url, { method, headers, body });
      expect(response.statusCode).toBe(200);
      if (method === 'GET') response.body.on('error', () => undefined).destroy();
      else await response.body.dump();
    };
    await send('POST', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}');
    await send('GET');
    upstream.forgetSessions();
    await send('POST', '{"jsonrpc":"2.0","id":1,"method":"resources/list"}');
    await send('DELETE');

    const sent = upstream.requests.slice(mark);
    expect(sent.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST', 'POST', 'POST', 'POST', 'DELETE']);
    const ofProtocol = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id'];
    const ofHttp = ['connection', 'content-length', 'host', 'transfer-encoding', 'user-agent'];
    const allowed = new Set([...ofProtocol, ...ofHttp, 'x-upstream-key', 'x-default', 'x-static', 'x-tenant']);
    for (const { headers: received, rawHeaders, method } of sent) {
      expect([method, Object.keys(received).filter((name) => !allowed.has(name))]).toEqual([method, []]);
      expect(received.host).toBe(new URL(upstream.url).host);
      expect(received['user-agent']).toMatch(/^mcp-adapter\//);
      expect(rawHeaders.join('\n')).not.toContain(TOKEN);
      expect(received['mcp-session-id']).not.toBe(sessionId);
    }
  });

  test('of the server do not reach the client, but those that it needs', async () => {
    const { a } = deployment;
    const session = await open(a);
    upstream.behavior.intercept = ({ text }) =>
      text.includes('"ping"')
        ? {
            status: 200,
            headers: {
              'content-type': 'application/json',
              'set-cookie': 'a=1',
              server: 'secret/1.0',
              'mcp-session-id': 'up',
            },
            body: '{"jsonrpc":"2.0","id":1,"result":{}}',
          }
        : undefined;
    const response = await session.at(a).request('ping');
    upstream.behavior.intercept = () => undefined;
    expect(await response.json()).toMatchObject({ result: {} });
    const names = [...response.headers.keys()].filter((name) => !['connection', 'date', 'keep-alive'].includes(name));
    expect(names.sort()).toEqual(['content-length', 'content-type', 'mcp-session-id', 'x-request-id']);
    expect(response.headers.get('mcp-session-id')).toBe(session.sessionId);
  });

  test('that are required and missing or empty are refused with 400, before anything is sent', async () => {
    const { a, b } = deployment;
    const session = await open(a);
    const count = upstream.requests.length;
    const withoutTenant = { headers: { 'x-tenant': '' } };
    for (const place of [a, b]) {
      const refused = await session.at(place).request('tools/call', { name: 'echo' }, withoutTenant);
      expect(refused.status).toBe(400);
      const error = {
        code: -32600,
        data: { code: 'missing_client_header' },
        message: expect.stringContaining('x-tenant') as string,
      };
      expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', id: expect.any(Number) as number, error });
      expect(await drain(session.at(place).stream(withoutTenant))).toBe(400);
      expect(await drain(session.at(place).end(withoutTenant))).toBe(400);
      expect(await drain(initialize(place, { headers: REQUIRED }))).toBe(400);
    }
    expect(upstream.requests.length).toBe(count);
    expect(textOf(await session.at(b).tool('echo'))).toBe('{}');
  });

  test('without the adapter’s token are refused with 401, before anything is sent', async () => {
    const { a, b } = deployment;
    const session = await open(a);
    const count = upstream.requests.length;
    for (const token of ['', 'wrong', TOKEN.toUpperCase(), `${TOKEN}x`]) {
      const send = { headers: { 'x-mcp-adapter-auth-token': token } };
      const refused = await session.at(b).request('ping', undefined, send);
      expect(refused.status).toBe(401);
      expect(await refused.json()).toMatchObject({
        jsonrpc: '2.0',
        id: expect.any(Number),
        error: { data: { code: 'unauthorized' } },
      });
      expect(await drain(session.at(a).stream(send))).toBe(401);
      expect(await drain(session.at(a).end(send))).toBe(401);
    }
    expect(upstream.requests.length).toBe(count);
    expect(textOf(await session.at(a).tool('echo'))).toBe('{}');
  });
});
