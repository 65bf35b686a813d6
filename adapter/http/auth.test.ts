import { expect, test } from 'vitest';

import { principalOf } from '../sessions/session-registry.ts';
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
  expect(authenticate(headers)).toBe(right ? principalOf('Right-Token') : undefined);
});

test('the principal says who it is and not what the token is', () => {
  expect(principalOf('a')).toMatch(/^[\w-]{43}$/);
  expect(principalOf('a')).not.toBe(principalOf('b'));
  expect(principalOf(undefined)).toBe('');
});

test('a list of values is no token, whatever the header is', () => {
  const cookies = tokenAuthentication({ enabled: true, header_name: 'Set-Cookie', token: 'a' });
  expect(cookies({ 'set-cookie': ['a'] })).toBeUndefined();
});

test('nothing is asked for while authentication is off', () => {
  const off = tokenAuthentication({ enabled: false, header_name: 'X-Auth-Token', token: 'a' });
  expect([off({}), off({ 'x-auth-token': 'b' })]).toEqual(['', '']);
});
