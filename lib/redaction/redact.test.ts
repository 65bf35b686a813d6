import { describe, expect, test } from 'vitest';

import { createRedaction, maskIds } from './redact.ts';
import { REDACTED } from './secret-names.ts';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl';

describe('text', () => {
  const { text: redact } = createRedaction({
    secrets: ['s3cr3t-value', 's3cr3t-value-longer', 'pa$$w(rd)', 'a"b&c d', 'abc', 'abc', ''],
    names: ['X-Tenant', 'tid'],
  });

  test.each<[string, string]>([
    // Configured secrets, wherever they stand; the longer one first.
    ['got s3cr3t-value back', `got ${REDACTED} back`],
    ['s3cr3t-values3cr3t-value', REDACTED + REDACTED],
    ['got s3cr3t-value-longer', `got ${REDACTED}`],
    ['x pa$$w(rd) y', `x ${REDACTED} y`],
    // In other forms.
    ['{"x":"a\\"b&c d"}', `{"x":"${REDACTED}"}`],
    ['?x=a%22b%26c%20d', `?x=${REDACTED}`],
    ['<p>a&quot;b&amp;c d</p>', `<p>${REDACTED}</p>`],
    // Schemes of HTTP authentication.
    ['sent Bearer abcd.EFG-1_2~3+4/5==', `sent Bearer ${REDACTED}`],
    ['sent BASIC dXNlcjpwYXNz,', `sent BASIC ${REDACTED},`],
    [`x ${JWT} y`, `x ${REDACTED} y`],
    [`x-eyJ-${JWT}.y`, `x-${REDACTED}.y`],
    [`${JWT}.${JWT}`, `${REDACTED}.${REDACTED}`],
    // Credentials in URLs.
    ['at https://user:pw@host.example/path?a=1', `at https://${REDACTED}@host.example/path?a=1`],
    ['redis://:pw@redis:6379/0', `redis://${REDACTED}@redis:6379/0`],
    ['rediss+x://u:p@h', `rediss+x://${REDACTED}@h`],
    // Assignments.
    ['token=abcdef', `token=${REDACTED}`],
    ['api_key: abcdef, next', `api_key: ${REDACTED}, next`],
    ['X-Api-Key=abcdef&b=2', `X-Api-Key=${REDACTED}&b=2`],
    ['{"password":"hunter2","a":1}', `{"password":"${REDACTED}","a":1}`],
    ["{'client_secret': 'hunter2'}", `{'client_secret': '${REDACTED}'}`],
    ['?mcp_upload_sig=abc.def&mcp_upload_exp=17', `?mcp_upload_sig=${REDACTED}&mcp_upload_exp=17`],
    ['mcp_artifact_sig=abcdef', `mcp_artifact_sig=${REDACTED}`],
    ['cookie: a=b; c=d', `cookie: ${REDACTED}`],
    ['{"set-cookie":"a=b; c=d","n":1}', `{"set-cookie":"${REDACTED}","n":1}`],
    ['Authorization: abcdef', `Authorization: ${REDACTED}`],
    ['Authorization: Bearer abcdef', `Authorization: ${REDACTED}`],
    ['{"authorization":"Token abcdef"}', `{"authorization":"${REDACTED}"}`],
    ['authorization: ApiKey abc def\nnext: 1', `authorization: ${REDACTED}\nnext: 1`],
    // JSON that is text in JSON.
    [String.raw`{"t":"{\"token\":\"abcdef\",\"n\":1}"}`, String.raw`{"t":"{\"token\":\"${REDACTED}\",\"n\":1}"}`],
    [String.raw`password=a\b c`, `password=${REDACTED} c`],
    // Configured names, as a whole.
    ['X-Tenant: acme, x_tenant2: b', `X-Tenant: ${REDACTED}, x_tenant2: b`],
    ['{"x-tenant":"acme"}', `{"x-tenant":"${REDACTED}"}`],
    ['tid=5 server_tid=s1 my-tid: 7', `tid=${REDACTED} server_tid=s1 my-tid: 7`],
    ['X-Mcp-Adapter-Auth-Token: abcdef', `X-Mcp-Adapter-Auth-Token: ${REDACTED}`],
  ])('%s', (text, expected) => {
    expect(redact(text)).toBe(expected);
    // Once is enough.
    expect(redact(redact(text))).toBe(expected);
  });

  test.each([
    'connect ECONNREFUSED 127.0.0.1:8080',
    'initialize was answered with HTTP 401',
    'the tool "abc" of the server "s1"',
    'http://host.example:8080/mcp?session=1',
    'mail user@example.com, see git@host:path',
    'a bearer of news',
    'Bearer x',
    'eyJ.a.b',
    'tokens are counted; the token was missing',
    'basic',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
    'naïve 😀 \n\t text',
    '',
  ])('is left alone: %j', (text) => {
    expect(redact(text)).toBe(text);
  });

  test('of any length takes no time to speak of', () => {
    for (const piece of ['token', 'a-', 'Bearer ', 'x://', 'eyJaaaaaa.', '-eyJ', 'a:', 'token ', 'a ']) {
      // Were it searched again from every character, this would take minutes.
      expect(redact(piece.repeat(1_000_000)).length).toBeLessThan(50_000);
    }
  });

  test.each(['eyJ-', '-eyJ', 'eyJaaaaaa-', 'eyJaaaaaa.eyJ-', 'aaaaaaaa.'])('of many %j is read once', (piece) => {
    const text = piece.repeat(16_384 / piece.length);
    const before = process.cpuUsage();
    for (let i = 0; i < 20; i += 1) redact(text);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(500);
  });

  test('is cut off after 16 Ki characters, and nothing of a secret is left at the cut', () => {
    const text = 'x'.repeat(16_384);
    expect(redact(text) === text).toBe(true);
    expect(redact(`${text}y`) === `${text}…`).toBe(true);
    const cut = redact(`${'x'.repeat(16_380)}s3cr3t-value`);
    expect([cut.length, cut.includes('s3cr')]).toEqual([16_385, false]);
  });
});

describe('a value', () => {
  const { value: redact } = createRedaction({ secrets: ['s3cr3t-value'], names: ['X-Tenant'] });

  test('loses what its names say is secret, whatever it is', () => {
    const value = {
      Authorization: 'x',
      token: ['a'],
      clientSecret: { a: 1 },
      password: '',
      'set-cookie': 1,
      apiKey: 'k',
      'api-key': 'k',
      private_key: 'k',
      credentials: 'k',
      sig: 's',
      mcp_upload_sig: 's',
      mcp_artifact_sig: 's',
      signature: 's',
      x_tenant: 'acme',
      'X-Tenant': 'acme',
      access_key: 'k',
      absent_token: null,
      other_token: undefined,
      nested: [{ passwd: 'x', fine: 'y' }],
    };
    expect(redact(value)).toEqual({
      Authorization: REDACTED,
      token: REDACTED,
      clientSecret: REDACTED,
      password: REDACTED,
      'set-cookie': REDACTED,
      apiKey: REDACTED,
      'api-key': REDACTED,
      private_key: REDACTED,
      credentials: REDACTED,
      sig: REDACTED,
      mcp_upload_sig: REDACTED,
      mcp_artifact_sig: REDACTED,
      signature: REDACTED,
      x_tenant: REDACTED,
      'X-Tenant': REDACTED,
      access_key: REDACTED,
      absent_token: null,
      other_token: undefined,
      nested: [{ passwd: REDACTED, fine: 'y' }],
    });
  });

  test('keeps everything else', () => {
    const value = {
      n: 1,
      b: false,
      z: null,
      u: undefined,
      t: 'x',
      list: [1, 'a', [true]],
      design: 'sig is a part of a word',
    };
    expect(redact(value)).toEqual(value);
    for (const one of [1, true, null, undefined, 'x']) expect(redact(one)).toBe(one);
  });

  test('is redacted in all its text', () => {
    expect(redact({ a: ['got s3cr3t-value', { b: 'Bearer abcdefgh' }] })).toEqual({
      a: [`got ${REDACTED}`, { b: `Bearer ${REDACTED}` }],
    });
  });

  test('may have a secret for a name', () => {
    expect(redact({ 's3cr3t-value': 1, a: { 'x s3cr3t-value y': 2 } })).toEqual({
      [REDACTED]: 1,
      a: { [`x ${REDACTED} y`]: 2 },
    });
    expect(Object.hasOwn(redact(JSON.parse('{"__proto__":{"a":1}}')) as object, '__proto__')).toBe(true);
  });

  test('may be an error, with all its causes', () => {
    const cause = Object.assign(new TypeError('s3cr3t-value refused'), { code: 'ECONNREFUSED' });
    const error = new Error('failed with token=abcdef', { cause: new Error('middle', { cause }) });
    const shown = JSON.stringify(redact(error));
    expect(JSON.parse(shown)).toMatchObject({
      type: 'Error',
      message: `failed with token=${REDACTED}`,
      stack: expect.stringContaining('redact.test'),
      cause: { message: 'middle', cause: { type: 'TypeError', code: 'ECONNREFUSED', message: `${REDACTED} refused` } },
    });
    expect(shown).not.toContain('s3cr3t');
    expect(shown).not.toContain('abcdef');
  });

  test('ends where it goes too deep, or round in circles', () => {
    const circle: Record<string, unknown> = { a: 1 };
    circle['self'] = circle;
    expect(JSON.stringify(redact(circle))).toContain('[deep]');
    const error = new Error('x');
    error.cause = error;
    expect(JSON.stringify(redact(error))).toContain('[deep]');
  });
});

test('ids are cut down to their first characters', () => {
  const id = '0123456789abcdef0123456789ABCDEF';
  expect(maskIds(`${id}x${id}`)).toBe('01234567…x01234567…');
  expect(maskIds('0123456789abc…')).toBe('01234567……');
  expect(maskIds('deadbeef 0123456789abc')).toBe('deadbeef 0123456789abc');
});
