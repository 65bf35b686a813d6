import { describe, expect, test } from 'vitest';
import { adminToken, bearerToken, TokenMissing } from './bearer-token.ts';

test.each<[string | undefined, boolean]>([
  ['Bearer Right-Token', true],
  ['bearer Right-Token', true],
  ['BEARER  Right-Token', true],
  ['Bearer right-token', false],
  ['Bearer Right-Toke', false],
  ['Bearer Right-Token2', false],
  ['Bearer Right-Token, Bearer Right-Token', false],
  ['Bearer ', false],
  ['Bearer', false],
  ['Right-Token', false],
  ['Basic Right-Token', false],
  ['', false],
  [undefined, false],
])('the header %j has the token: %s', (header, right) => {
  expect(bearerToken('Right-Token')(header)).toBe(right);
});

test('a token may have letters beyond ASCII, whose bytes are compared', () => {
  const asNodeReadsIt = Buffer.from('Bearer zoë', 'utf8').toString('latin1');
  expect(bearerToken('zoë')(asNodeReadsIt)).toBe(true);
});

describe('the token of the admin API', () => {
  test('comes from the variable that is named, without white space around it', () => {
    expect(adminToken('ADMIN', { ADMIN: ' secret\n' })).toBe('secret');
  });

  test.each<[string | null, Record<string, string>, string]>([
    ['ADMIN', {}, 'the environment variable ADMIN is unset or empty'],
    ['ADMIN', { ADMIN: ' \n' }, 'the environment variable ADMIN is unset or empty'],
    [null, { ADMIN: 'a' }, 'scraper.adminSecretEnv'],
  ])('that is missing (%j, %j) is said', (name, env, message) => {
    expect(() => adminToken(name, env)).toThrow(TokenMissing);
    expect(() => adminToken(name, env)).toThrow(message);
  });
});
