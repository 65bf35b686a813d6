import { expect, test } from 'vitest';

import { accessWarnings, type AccessSettings } from './access-warnings.ts';

type Core = AccessSettings['core'];
const auth = (enabled: boolean, token: string | null, signing_secret: string | null = null): Core => ({
  auth: { enabled, token, tokens: [], oauth: null, signing_secret },
});
const LONG = 'x'.repeat(16);
const SHORT = 'x'.repeat(15);

const more = (changes: Partial<Core['auth']>): Core => ({ auth: { ...auth(true, null).auth, ...changes } });
const named = (token: string) => more({ tokens: [{ name: 'ci', token }] });
const issued = (issuer: string) => more({ oauth: { issuer } });
const mount = (id: string, issuer?: string) => ({ id, auth: { oauth: issuer === undefined ? null : { issuer } } });

test.each([
  ['nobody is asked, others connect', auth(false, null), '0.0.0.0', ['core.auth.enabled']],
  ['nobody is asked, an address of the network', auth(false, LONG), '10.0.0.7', ['core.auth.enabled']],
  ['nobody is asked, only this machine', auth(false, null), '127.0.0.1', []],
  ['nobody is asked, only this machine', auth(false, SHORT), '::1', []],
  ['a long token', auth(true, LONG), '0.0.0.0', []],
  ['a short token', auth(true, SHORT), '127.0.0.1', ['core.auth.token']],
  ['a short signing secret', auth(true, LONG, SHORT), '0.0.0.0', ['core.auth.signing_secret']],
  ['a short token with a name', named(SHORT), '0.0.0.0', ['core.auth.tokens']],
  ['keys that come without TLS', issued('http://id.example.com'), '0.0.0.0', ['core.auth.oauth']],
  ['keys that come from this machine', issued('http://127.0.0.1:8080/realms/mcp'), '0.0.0.0', []],
  ['keys that come with TLS', issued('https://id.example.com'), '0.0.0.0', []],
  ['both', auth(true, SHORT, SHORT), '0.0.0.0', ['core.auth.token', 'core.auth.signing_secret']],
])('T25: weak access is warned of, and the secret is not told: %s', (_what, core, host, fields) => {
  const warnings = accessWarnings({ core, servers: [mount('search')] }, host);
  expect(warnings.map(({ message }) => message.split(' ')[0])).toEqual(fields);
  expect(JSON.stringify(warnings)).not.toContain(SHORT);
});

test('T25: servers whose own issuer has no TLS are named, where tokens are asked for', () => {
  const servers = [mount('a', 'http://id.example.com'), mount('b', 'https://id.example.com'), mount('c')];
  const seen = (core: Core) =>
    accessWarnings({ core, servers }, '127.0.0.1').map(({ message }) => message.split(' ')[0]);
  expect(seen(issued('https://id.example.com'))).toEqual(['servers.a.auth.oauth']);
  expect(seen(auth(false, LONG))).toEqual([]);
});
