import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Auth } from '../../crds/config/scraper-file/auth.ts';
import { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { type Authenticator, createAuthenticator } from './auth.ts';
import type { HttpRequest } from './http-client.ts';
import { json, TestServer } from './testing/test-server.ts';
import { TokenCache } from './token-cache.ts';
import { UndiciClient } from './undici-client.ts';

const never = new AbortController().signal;
const BASIC = `Basic ${Buffer.from('u:pässwort').toString('base64')}`;

let server: TestServer;
let http: UndiciClient;
let tokens: TokenCache;
let time: number;
beforeEach(async () => {
  time = 0;
  server = await TestServer.start(json({ access_token: 't1', expires_in: 3600 }));
  http = new UndiciClient({ proxies: {}, userAgent: 'test/1' });
  tokens = new TokenCache(() => time);
});
afterEach(async () => {
  tokens.close();
  await http.close();
  await server.close();
});

const authenticator = (auth: unknown): Authenticator =>
  createAuthenticator(auth === null ? null : Auth.parse(auth), {
    http,
    tls: ClientTls.parse({}),
    sourceHost: 'api.example.com',
    now: () => new Date('2025-01-01T00:00:00Z'),
    tokens,
  });
const oauth = (more: object = {}): Authenticator =>
  authenticator({
    type: 'oauth',
    username: 'u',
    password: 'pässwort',
    getTokenEndpoint: `${server.url}/token?a=1`,
    tokenKey: 'data.token',
    ...more,
  });
const azure = (): Authenticator =>
  authenticator({
    type: 'azuread',
    client_id: 'id',
    client_secret: 's+/=',
    tokenEndpoint: `${server.url}/t`,
    resource: 'https://r/',
  });
/** The token that the next request has. */
const tokenOf = async (auth: Authenticator): Promise<string | undefined> =>
  (await auth.headers(never))['Authorization']?.replace('Bearer ', '');

test('T21: the name that the source’s certificate must have is not asked of another host', async () => {
  const sent: HttpRequest[] = [];
  const tls = ClientTls.parse({ serverName: 'inner', ca: 'x' });
  const answer = { status: 200, headers: {}, text: '{"access_token":"t"}', bytes: 20 };
  const parts = { http: { send: async (request: HttpRequest) => (sent.push(request), answer) }, tls, tokens };
  const auth = Auth.parse({
    type: 'azuread',
    client_id: 'i',
    client_secret: 's',
    tokenEndpoint: 'https://a/t',
    resource: 'r',
  });
  for (const sourceHost of ['a', 'b']) {
    tokens.reject(TokenCache.key([auth, tls]), 't');
    await createAuthenticator(auth, { ...parts, sourceHost, now: () => new Date() }).headers(never);
  }
  expect(sent.map(({ tls: { serverName, ca }, andSystem }) => [serverName, ca, andSystem])).toEqual([
    ['inner', 'x', false],
    [null, 'x', true],
  ]);
});

describe('headers that never change', () => {
  test.each([
    [null, {}],
    [{ type: 'basic', username: 'u', password: 'pässwort' }, { Authorization: BASIC }],
    [{ type: 'apikey', keyName: 'X-Api-Key', keyValue: ' a b ' }, { 'X-Api-Key': ' a b ' }],
    [{ type: 'oauth', token: 't' }, { Authorization: 'Bearer t' }],
    [
      {
        type: 'oauth',
        token: 't',
        username: 'u',
        password: 'p',
        getTokenEndpoint: 'https://nowhere.invalid',
        tokenKey: 'a',
      },
      { Authorization: 'Bearer t' },
    ],
  ])('%j', async (auth, headers) => {
    expect(await authenticator(auth).headers(never)).toEqual(headers);
    expect(authenticator(auth).rejected(headers as Record<string, string>)).toBe(false);
  });
});

describe('the request for a token', () => {
  const form = 'application/x-www-form-urlencoded';

  test.each([
    [{ bodyData: { type: 'json', data: { a: [1], b: 'ü' } } }, 'application/json', '{"a":[1],"b":"ü"}'],
    [{ bodyData: { type: 'raw', data: { grant_type: 'x y', scope: 'a+b' } } }, form, 'grant_type=x+y&scope=a%2Bb'],
    [{ bodyData: { type: 'raw', data: 'grant_type=x' } }, form, 'grant_type=x'],
    [
      { bodyData: { type: 'raw', data: '<x/>' }, tokenHeaders: { 'content-type': 'text/xml', 'X-Tenant': 'a' } },
      'text/xml',
      '<x/>',
    ],
    [{}, undefined, ''],
  ])('%j', async (more, type, body) => {
    await oauth(more).headers(never);
    expect(server.requests).toMatchObject([{ method: 'POST', target: '/token?a=1', body }]);
    expect(server.requests[0]?.headers).toMatchObject({ authorization: BASIC });
    expect(server.requests[0]?.headers['content-type']).toBe(type);
  });

  test('with GET, a mapping is the query and a text is dropped', async () => {
    await oauth({ getTokenMethod: 'GET', bodyData: { type: 'json', data: { scope: 'a b' } } }).headers(never);
    await oauth({ getTokenMethod: 'GET', bodyData: { type: 'raw', data: 'scope=a' } }).headers(never);
    expect(server.requests).toMatchObject([
      { method: 'GET', target: '/token?a=1&scope=a+b', body: '' },
      { method: 'GET', target: '/token?a=1', body: '' },
    ]);
  });

  test('user name and password overrule a header', async () => {
    await oauth({ tokenHeaders: { authorization: 'mine' } }).headers(never);
    expect(server.requests[0]?.headers.authorization).toBe(BASIC);
  });

  test('azuread', async () => {
    expect(await azure().headers(never)).toEqual({ Authorization: 'Bearer t1' });
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        body: 'grant_type=client_credentials&client_id=id&client_secret=s%2B%2F%3D&resource=https%3A%2F%2Fr%2F',
      },
    ]);
    expect(server.requests[0]?.headers['content-type']).toBe(form);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });
});

describe('the token', () => {
  test.each([
    [{ data: { token: 'a' }, access_token: 'b' }, 'a'],
    [{ access_token: 'b' }, 'b'],
    [{ data: { token: '' }, access_token: 'b' }, 'b'],
    [{ data: { token: 42 } }, '42'],
  ])('of %j', async (answer, token) => {
    server.answer = json(answer);
    expect(await tokenOf(oauth())).toBe(token);
  });

  test.each<[string, TestServer['answer'], object]>([
    ['is missing', json({ secret: 'pässwort' }), { kind: 'auth', message: /without a token at data.token or access_/ }],
    ['is a list', json(['x']), { kind: 'auth' }],
    ['cannot be a header', json({ access_token: 'a\nb' }), { kind: 'auth', message: /cannot stand in a header/ }],
    ['is refused', json({ got: 'pässwort' }, 400), { kind: 'auth', status: 400 }],
    ['is refused for now', json({}, 429, { 'retry-after': '5' }), { kind: 'auth', status: 429, retryAfterMs: 5000 }],
    ['is somewhere else', json({}, 302, { location: '/x' }), { kind: 'auth', status: 302 }],
    ['is not JSON', (_request, response) => void response.end('pässwort'), { kind: 'auth' }],
    [
      'nests without end',
      (_request, response) => void response.end(`{"access_token":"x","y":${'['.repeat(600)}${']'.repeat(600)}}`),
      { kind: 'auth', message: /answered too much/ },
    ],
    ['comes from nobody', (_request, response) => void response.destroy(), { kind: 'network' }],
  ])('%s', async (_why, answer, expected) => {
    server.answer = answer;
    const failed = await oauth()
      .headers(never)
      .catch((error: unknown) => error as Error);
    const { message, ...rest } = expected as { message?: RegExp };
    expect(failed).toMatchObject(rest);
    expect((failed as Error).message).toMatch(message ?? /./);
    expect((failed as Error).message).not.toMatch(/pässwort|a=1/);
  });
});

describe('tokens are kept', () => {
  test('for all runs, until 30 s before they expire', async () => {
    expect(await tokenOf(azure())).toBe('t1');
    server.answer = json({ access_token: 't2', expires_in: '3600' });
    time = 3_569_999;
    expect(await tokenOf(azure())).toBe('t1');
    time = 3_570_000;
    expect(await tokenOf(azure())).toBe('t2');
    time += 3_569_999;
    expect(await tokenOf(azure())).toBe('t2');
    expect(server.requests).toHaveLength(2);
  });

  test('for half of their life when that is short', async () => {
    server.answer = json({ access_token: 't', expires_in: 10 });
    await tokenOf(azure());
    time = 4999;
    await tokenOf(azure());
    expect(server.requests).toHaveLength(1);
    time = 5000;
    await tokenOf(azure());
    expect(server.requests).toHaveLength(2);
  });

  test('until they are rejected, when nobody says how long', async () => {
    server.answer = json({ access_token: 't' });
    const auth = oauth();
    await tokenOf(auth);
    time = 1e12;
    await tokenOf(auth);
    expect(server.requests).toHaveLength(1);
    server.answer = json({ access_token: 'u' });
    expect(auth.rejected({ Authorization: 'Bearer t' })).toBe(true);
    expect(await tokenOf(auth)).toBe('u');
    // Said late, of a token that has been replaced.
    expect(auth.rejected({ Authorization: 'Bearer t' })).toBe(true);
    expect(await tokenOf(auth)).toBe('u');
    expect(server.requests).toHaveLength(2);
  });

  test('by sources with the same credentials only', async () => {
    await tokenOf(oauth());
    await tokenOf(oauth());
    await tokenOf(oauth({ password: 'other' }));
    expect(server.requests).toHaveLength(2);
    expect(tokens.secrets()).toEqual(['t1', 't1']);
  });
});

describe('many at once', () => {
  test('wait for one token', async () => {
    const auth = azure();
    expect(await Promise.all(Array.from({ length: 20 }, () => tokenOf(auth)))).toEqual(Array(20).fill('t1'));
    expect(server.requests).toHaveLength(1);
  });

  test('share a failure, which is not remembered', async () => {
    server.answer = json({}, 500);
    const auth = azure();
    const results = await Promise.allSettled([tokenOf(auth), tokenOf(auth), tokenOf(auth)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(server.requests).toHaveLength(1);
    server.answer = json({ access_token: 'later' });
    expect(await tokenOf(auth)).toBe('later');
  });

  test('one that gives up does not take it from the others', async () => {
    const controller = new AbortController();
    const reason = new Error('mine only');
    const { promise: asked, resolve } = Promise.withResolvers<() => void>();
    server.answer = (request, response) => resolve(() => void json({ access_token: 't' })(request, response));
    const auth = azure();
    const [mine, other] = [auth.headers(controller.signal), tokenOf(auth)];
    const answer = await asked;
    controller.abort(reason);
    await expect(mine).rejects.toBe(reason);
    answer();
    expect(await other).toBe('t');
  });

  test('none waits when the scraper stops', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    server.answer = () => resolve();
    const waiting = tokenOf(azure());
    await asked;
    tokens.close();
    await expect(waiting).rejects.toThrow('stopping');
  });
});
