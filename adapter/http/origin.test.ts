import { ServerResponse, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

import { describe, expect, test } from 'vitest';

import { type CorsSettings, isOwnOrigin, OriginPolicy } from './origin.ts';

const OFF: CorsSettings = {
  enabled: false,
  allowed_origins: [],
  allowed_methods: ['POST', 'GET', 'OPTIONS'],
  allowed_headers: ['*'],
  allow_credentials: false,
};
const policy = (
  cors: Partial<CorsSettings> = {},
  boundHost = '0.0.0.0',
  publicBaseUrl: string | null = null,
): OriginPolicy => new OriginPolicy({ ...OFF, ...cors }, { publicBaseUrl, boundHost });
const response = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

test.each([
  ['http://a.example', 'a.example', true],
  ['https://a.example', 'a.example', true],
  ['https://a.example', 'a.example:443', true],
  ['https://a.example:8443', 'a.example:8443', true],
  ['http://[::1]:80', '[::1]', true],
  ['http://A.example', 'a.EXAMPLE', true],
  ['https://a.example', 'a.example:8443', false],
  ['http://a.example.evil.example', 'a.example', false],
  ['http://evil.example', 'a.example', false],
  ['http://evil.example', 'evil.example@a.example', false],
  ['null', 'null', false],
  ['null', '', false],
  ['file://', '', false],
  [undefined, 'a.example', false],
])('a page of %s is of %s: %s', (origin, host, expected) => {
  expect(isOwnOrigin(origin, host)).toBe(expected);
});

describe('an origin', () => {
  test('may be absent', () => {
    expect(policy().allowsOrigin(undefined)).toBe(true);
  });

  test.each([
    'https://evil.example',
    'http://localhost:3000',
    'http://127.0.0.1',
    'null',
    '',
    'nonsense',
    'http://adapter.example',
    'https://adapter.example:8443',
    'https://adapter.example.evil.example',
    'https://app.example/',
  ])('is refused unless it is named: %j', (origin) => {
    expect(
      policy({ allowed_origins: ['https://app.example'] }, '0.0.0.0', 'https://adapter.example/x').allowsOrigin(origin),
    ).toBe(false);
  });

  test('is allowed when it is listed, also while CORS is off, or when it is that of the public URL', () => {
    expect(policy({ allowed_origins: ['https://app.example'] }).allowsOrigin('https://app.example')).toBe(true);
    expect(policy({ allowed_origins: ['null'] }).allowsOrigin('null')).toBe(true);
    expect(policy({ allowed_origins: ['*'] }).allowsOrigin('https://any.example')).toBe(true);
    expect(
      policy({}, '0.0.0.0', 'https://adapter.example:8443/base').allowsOrigin('https://adapter.example:8443'),
    ).toBe(true);
    expect(policy({}, '0.0.0.0', 'https://adapter.example:443').allowsOrigin('https://adapter.example')).toBe(true);
  });

  test.each([
    ['http://localhost:3000', true],
    ['https://localhost', true],
    ['http://127.0.0.1:8080', true],
    ['http://[::1]:8080', true],
    ['http://evil.example', false],
    ['http://localhost.evil.example', false],
    ['http://127.0.0.1.evil.example', false],
    ['null', false],
  ])('of this machine is allowed while only it can connect: %s %s', (origin, expected) => {
    expect(policy({}, '127.0.0.1').allowsOrigin(origin)).toBe(expected);
  });
});

describe('CORS', () => {
  const on = { enabled: true, allowed_origins: ['https://app.example'] };

  test('is added for allowed origins only, and only while it is on', () => {
    const cases: [Partial<CorsSettings>, string | undefined][] = [
      [{ ...on, enabled: false }, 'https://app.example'],
      [on, 'https://other.example'],
      [on, undefined],
      [{ enabled: true }, 'https://app.example'],
    ];
    for (const [cors, origin] of cases) {
      const reply = response();
      policy(cors).decorate(origin, reply);
      expect(reply.getHeaders()).toEqual({});
    }
  });

  test('names the origin, and says that the answer depends on it', () => {
    const reply = response();
    policy({ ...on, allow_credentials: true }).decorate('https://app.example', reply);
    expect(reply.getHeaders()).toEqual({
      'access-control-allow-origin': 'https://app.example',
      vary: 'Origin',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'Mcp-Session-Id, X-Request-Id, Retry-After, WWW-Authenticate',
    });
  });

  test('names no origin where any is allowed', () => {
    const reply = response();
    policy({ enabled: true, allowed_origins: ['*'] }).decorate('https://app.example', reply);
    expect(reply.getHeaders()).toMatchObject({ 'access-control-allow-origin': '*' });
    expect(reply.getHeaders()).not.toHaveProperty('vary');
    expect(reply.getHeaders()).not.toHaveProperty('access-control-allow-credentials');
  });

  test.each<[Partial<CorsSettings>, string | undefined, string, string]>([
    [{}, 'X-A, X-B', 'POST, GET, OPTIONS', 'X-A, X-B'],
    [{}, undefined, 'POST, GET, OPTIONS', '*'],
    [{ allowed_headers: ['X-A'], allowed_methods: ['DELETE'] }, 'X-B', 'DELETE', 'X-A'],
  ])('answers a preflight: %j %j', (cors, requested, methods, headers) => {
    const reply = response();
    const answered = policy({ ...on, ...cors }).preflight(
      { 'access-control-request-method': 'POST', 'access-control-request-headers': requested },
      reply,
    );
    expect([answered, reply.statusCode, reply.writableEnded]).toEqual([true, 204, true]);
    expect(reply.getHeaders()).toMatchObject({
      'access-control-allow-methods': methods,
      'access-control-allow-headers': headers,
      'access-control-max-age': '600',
    });
  });

  test('leaves other OPTIONS alone, and all of them while it is off', () => {
    const reply = response();
    expect(policy(on).preflight({}, reply)).toBe(false);
    expect(policy({ ...on, enabled: false }).preflight({ 'access-control-request-method': 'POST' }, reply)).toBe(false);
    expect(reply.headersSent).toBe(false);
  });
});
