import { expect, test } from 'vitest';

import { accessWarnings } from './access-warnings.ts';

const auth = (enabled: boolean, token: string | null, signing_secret: string | null = null) =>
  ({ auth: { enabled, token, signing_secret } }) as Parameters<typeof accessWarnings>[0];
const LONG = 'x'.repeat(16);
const SHORT = 'x'.repeat(15);

test.each([
  ['nobody is asked, others connect', auth(false, null), '0.0.0.0', ['core.auth.enabled']],
  ['nobody is asked, an address of the network', auth(false, LONG), '10.0.0.7', ['core.auth.enabled']],
  ['nobody is asked, only this machine', auth(false, null), '127.0.0.1', []],
  ['nobody is asked, only this machine', auth(false, SHORT), '::1', []],
  ['a long token', auth(true, LONG), '0.0.0.0', []],
  ['a short token', auth(true, SHORT), '127.0.0.1', ['core.auth.token']],
  ['a short signing secret', auth(true, LONG, SHORT), '0.0.0.0', ['core.auth.signing_secret']],
  ['both', auth(true, SHORT, SHORT), '0.0.0.0', ['core.auth.token', 'core.auth.signing_secret']],
])('T25: weak access is warned of, and the secret is not told: %s', (_what, core, host, fields) => {
  const warnings = accessWarnings(core, host);
  expect(warnings.map(({ message }) => message.split(' ')[0])).toEqual(fields);
  expect(JSON.stringify(warnings)).not.toContain(SHORT);
});
