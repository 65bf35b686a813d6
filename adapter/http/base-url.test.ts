import { expect, test } from 'vitest';

import { baseUrl } from './base-url.ts';

const LISTENING = { host: '0.0.0.0', port: 8932 };

test('T8: the configured URL comes first, whatever the request says', () => {
  const request = { protocol: 'https', host: 'other.example' };
  expect(baseUrl('https://files.example/mcp', request, LISTENING)).toBe('https://files.example/mcp');
  expect(baseUrl('https://files.example/mcp/', undefined, LISTENING)).toBe('https://files.example/mcp');
});

test.each([
  [{ protocol: 'https', host: 'files.example' }, 'https://files.example'],
  [{ protocol: 'HTTPS', host: 'files.example:8443' }, 'https://files.example:8443'],
  [{ protocol: 'http', host: '[2001:db8::1]:80' }, 'http://[2001:db8::1]:80'],
  [{ protocol: 'javascript', host: 'files.example' }, 'http://files.example'],
])('then what the request was sent to: %j', (request, expected) => {
  expect(baseUrl(null, request, LISTENING)).toBe(expected);
});

test.each(['', 'a b', 'evil.example/path', 'a@evil.example', '"><script>', 'a:b:c', 'a.example, b.example', 'a\n'])(
  'a host that is none is not repeated: %j',
  (host) => {
    expect(baseUrl(null, { protocol: 'https', host }, LISTENING)).toBe('http://127.0.0.1:8932');
  },
);

test.each([
  ['0.0.0.0', 'http://127.0.0.1:8932'],
  ['::', 'http://[::1]:8932'],
  ['10.1.2.3', 'http://10.1.2.3:8932'],
  ['fd00::1', 'http://[fd00::1]:8932'],
])('at last the address that it listens on: %s', (host, expected) => {
  expect(baseUrl(null, undefined, { host, port: 8932 })).toBe(expected);
});
