import { expect, test } from 'vitest';

import { tokenAuthentication } from './auth.ts';

const authenticate = tokenAuthentication({ enabled: true, header_name: 'X-Auth-TOKEN', token: 'Right-Token' });

test.each([
  [{ 'x-auth-token': 'Right-Token' }, true],
  [{ 'x-auth-token': 'right-token' }, false],
  [{ 'x-auth-token': 'Right-Token ' }, false],
  [{ 'x-auth-token': 'Right-Toke' }, false],
  [{ 'x-auth-token': 'Right-Token, Right-Token' }, false],
  [{ 'x-auth-token': '' }, false],
  [{ 'x-auth-token': undefined }, false],
  [{ 'x-mcp-adapter-auth-token': 'Right-Token' }, false],
  [{ authorization: 'Bearer Right-Token' }, false],
  [{ 'set-cookie': ['Right-Token'] }, false],
  [{}, false],
])('the token of %j is right: %s', (headers, right) => {
  expect(authenticate(headers)).toBe(right);
});

test('a list of values is no token, whatever the header is', () => {
  const cookies = tokenAuthentication({ enabled: true, header_name: 'Set-Cookie', token: 'a' });
  expect(cookies({ 'set-cookie': ['a'] })).toBe(false);
});

test('nothing is asked for while authentication is off', () => {
  const off = tokenAuthentication({ enabled: false, header_name: 'X-Auth-Token', token: 'a' });
  expect([off({}), off({ 'x-auth-token': 'b' })]).toEqual([true, true]);
});
