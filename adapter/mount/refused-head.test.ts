import { expect, test } from 'vitest';

import { createRedaction } from '../../lib/redaction/redact.ts';
import { refusedHead } from './refused-head.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';

test.each([
  [200, false, undefined],
  [202, false, undefined],
  [301, false, 'redirects to https://elsewhere/mcp'],
  [302, true, 'redirects to https://elsewhere/mcp'],
  [308, false, 'redirects to https://elsewhere/mcp'],
  [400, false, undefined],
  [401, false, "refused the adapter's credentials (HTTP 401)"],
  [403, false, "refused the adapter's credentials (HTTP 403)"],
  [401, true, undefined],
  [403, true, undefined],
  [404, false, undefined],
  [500, false, undefined],
])('HTTP %i of an upstream, to whose clients challenges are passed (%s): %s', (status, relays, message) => {
  const mount = sampleMount({
    upstream: { client_headers: { passthrough: relays ? ['Authorization'] : [], unsafe: true } },
  });
  const rejected = refusedHead(mount, {
    status,
    headers: { location: 'https://elsewhere/mcp' },
    upstreamSessionId: null,
  });
  if (message === undefined) expect(rejected).toBeUndefined();
  else
    expect(rejected).toMatchObject({ code: 'upstream_failed', status: 502, message: expect.stringContaining(message) });
});

test('the place that an upstream redirects to is told without credentials', () => {
  const mount = sampleMount({}, { redact: createRedaction({ secrets: ['k3y-value'] }).text });
  const location = 'https://user:pw@elsewhere/mcp?api_key=abc&x=k3y-value';
  const rejected = refusedHead(mount, { status: 302, headers: { location }, upstreamSessionId: null });
  expect(rejected?.message).toContain('https://<redacted>@elsewhere/mcp?api_key=<redacted>&x=<redacted>');
});
