import type { IncomingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import { notLocal } from './local-request.ts';

test.each<[IncomingHttpHeaders, boolean]>([
  [{ host: 'localhost' }, true],
  [{ host: 'LOCALHOST:8933' }, true],
  [{ host: '127.0.0.1:8933' }, true],
  [{ host: '[::1]:8933' }, true],
  [{ host: '127.0.0.1.evil.example:8933' }, false],
  [{ host: 'evil.example' }, false],
  [{ host: 'localhost.evil.example' }, false],
  [{ host: 'localhost@evil.example' }, false],
  [{}, false],
  [{ host: 'localhost', origin: 'http://localhost' }, false],
  [{ host: 'localhost', origin: 'null' }, false],
  [{ host: 'localhost', 'sec-fetch-site': 'cross-site' }, false],
])('a request with %j may come in: %s', (headers, may) => {
  expect(notLocal(headers) === undefined).toBe(may);
});
