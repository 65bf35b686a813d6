import { expect, test } from 'vitest';
import { adminToken } from './admin-token.ts';

test.each<[boolean, string | null, Record<string, string>, string | undefined]>([
  [true, 'ADMIN', { ADMIN: 'secret' }, 'secret'],
  [true, 'ADMIN', { ADMIN: ' secret\n' }, 'secret'],
  [false, 'ADMIN', { ADMIN: 'secret' }, undefined],
  [true, 'ADMIN', {}, ''],
  [true, null, { ADMIN: 'secret' }, ''],
])('with enableAdminApi %s, adminSecretEnv %s and %j the token is %j', (enableAdminApi, adminSecretEnv, env, token) => {
  expect(adminToken({ enableAdminApi, adminSecretEnv }, env)).toBe(token);
});
