import { expect, test } from 'vitest';
import { localUrl } from './local-url.ts';

test.each([
  ['0.0.0.0', 'http://127.0.0.1:8932'],
  ['::', 'http://[::1]:8932'],
  ['0:0:0:0:0:0:0:0', 'http://[::1]:8932'],
  ['::1', 'http://[::1]:8932'],
  ['fd00::1', 'http://[fd00::1]:8932'],
  ['fe80::1%eth0', 'http://[fe80::1]:8932'],
  ['10.0.0.0', 'http://10.0.0.0:8932'],
  ['localhost', 'http://localhost:8932'],
])('what listens at %s is reached at %s', (host, url) => {
  expect(localUrl(host, 8932)).toBe(url);
});
