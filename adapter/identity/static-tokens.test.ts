import { expect, test } from 'vitest';

import { authenticator } from './authenticator.ts';
import { StaticTokens } from './static-tokens.ts';

const tokens = new StaticTokens({ token: 'Right-Token', tokens: [{ name: 'ci', token: 'second-token' }] });
const authenticate = authenticator({ headerName: 'X-Auth-TOKEN', tokens, bearer: undefined, scopes: [] });
const nameOf = (headers: Record<string, string | string[] | undefined>): string => {
  const identity = authenticate({ headers, rawHeaders: [] });
  return identity instanceof Promise ? 'a promise' : identity.name;
};

test.each([
  ['the token', { 'x-auth-token': 'Right-Token' }, 'token:default'],
  ['one with a name', { 'x-auth-token': 'second-token' }, 'token:ci'],
])('%s says who is calling', (_what, headers, name) => {
  expect(nameOf(headers)).toBe(name);
});

test.each([
  [{ 'x-auth-token': 'right-token' }],
  [{ 'x-auth-token': 'Right-Token ' }],
  [{ 'x-auth-token': 'Right-Toke' }],
  [{ 'x-auth-token': 'Right-Token, Right-Token' }],
  [{ 'x-auth-token': 'ci' }],
  [{ 'x-auth-token': '' }],
  [{ 'x-auth-token': undefined }],
  [{ 'x-mcp-adapter-auth-token': 'Right-Token' }],
  [{ authorization: 'Bearer Right-Token' }],
  [{ 'set-cookie': ['Right-Token'] }],
  [{}],
])('%j holds no token', (headers) => {
  expect(() => nameOf(headers)).toThrow(expect.objectContaining({ code: 'unauthorized' }));
});

test('a list of values is no token, whatever the header is', () => {
  const options = { headerName: 'Set-Cookie', bearer: undefined, scopes: [] };
  const cookies = authenticator({ ...options, tokens: new StaticTokens({ token: 'a', tokens: [] }) });
  expect(() => cookies({ headers: { 'set-cookie': ['a'] }, rawHeaders: [] })).toThrow(
    expect.objectContaining({ code: 'unauthorized' }),
  );
});

test('each token is a principal of its own, and no header can hold the key of one with a name', () => {
  const keys = ['Right-Token', 'second-token'].map((token) => tokens.identity(token)?.key);
  expect(keys).toEqual(['Right-Token', '\0token\0ci']);
});
