import { expect, test } from 'vitest';

import { upstreamRefusal } from './upstream-refusal.ts';

const asItIs = (text: string): string => text;
const sent = { host: 'browser:8931', headers: ['X-Api-Key'] };

test.each([
  [
    'Access is only allowed at localhost:9105',
    'host name browser:8931 (HTTP 403): "Access is only allowed at localhost:9105"',
  ],
  ['{"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host: browser:8931"},"id":null}', 'Invalid Host'],
  ['<html><title>x</title><h1>DisallowedHost</h1> Invalid HTTP_HOST header: host</html>', 'upstream.host_header'],
])('403 with %s is about the host name', (body, expected) => {
  const said = upstreamRefusal(403, body, sent, asItIs);
  expect(said).toContain(expected);
  expect(said).toContain('set upstream.host_header');
});

test.each([
  [
    401,
    '{"error":"invalid_token","error_description":"The token has expired"}',
    '"The token has expired". Sent: X-Api-Key.',
  ],
  [401, 'no such host', 'credentials (HTTP 401)'],
  [403, '', "refused the adapter's credentials (HTTP 403). Sent: X-Api-Key."],
  [403, `<p>${'forbidden '.repeat(100)}</p>`, 'forbidden …"'],
])('%d with %s is about credentials', (status, body, expected) => {
  expect(upstreamRefusal(status, body, sent, asItIs)).toContain(expected);
});

test('nothing was sent', () => {
  expect(upstreamRefusal(401, '', { ...sent, headers: [] }, asItIs)).toContain(
    'No credentials were sent: set upstream.static_headers.',
  );
});

test('what a server says is one line', () => {
  expect(upstreamRefusal(403, 'a\nb\u0007\u202ec', sent, asItIs)).toContain('"a b c"');
});

test('where its words are cut, no half of a secret is left', () => {
  const redact = (text: string): string => text.replaceAll('secret-of-ours', '<redacted>');
  const said = upstreamRefusal(401, `${'x'.repeat(190)} secret-of-ours`, sent, redact);
  expect(said).toContain('xx <redacted');
  expect(said).not.toContain('secret-of');
});
