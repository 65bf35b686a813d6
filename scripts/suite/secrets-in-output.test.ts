import { beforeAll, describe, expect, test } from 'vitest';
import { SEARCH_DIR, type SearchRecord } from '../../e2e/support/secrets/records.ts';
import { isOwnAnswer } from '../../e2e/support/secrets/answers.ts';
import { type Found, OutputSearch, secretsIn } from '../../e2e/support/secrets/search.ts';
import { MARKER, secret } from '../../e2e/support/secrets/secret.ts';
import { searchResult } from './secrets-in-output.ts';

// The secrets of this file are given to no program.
beforeAll(() => void delete process.env[SEARCH_DIR]);

describe('a secret', () => {
  test('has a name that can be read in it, and is never the same', () => {
    expect(secret('password of Redis')).toMatch(new RegExp(`^${MARKER}passwordOfRedis[0-9a-f]{12}$`));
    expect(secret('x')).not.toBe(secret('x'));
  });

  test.each<[string, (value: string) => string]>([
    ['as it is', (value) => value],
    ['in JSON', (value) => JSON.stringify({ value })],
    ['in a URL', (value) => encodeURIComponent(`token=${value}`)],
    ['cut off', (value) => value.slice(0, MARKER.length + 3)],
    ['twice encoded', (value) => JSON.stringify(JSON.stringify({ value }))],
  ])('is found %s', (form, write) => {
    expect(secretsIn(`before ${write(secret('api key'))} after`)).toEqual([
      { secret: form === 'cut off' ? 'api' : 'apiKey', context: expect.stringContaining('before ') },
    ]);
  });

  test.each(['', 'u', 'us', 'use', 'user:'])('is found in Base64 behind %j', (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${before}${secret('x')}`).toString(encoding);
      expect(secretsIn(`Basic ${text}`)).toMatchObject([{ secret: 'one, in Base64' }]);
    }
  });

  test('is found where it comes in pieces, once', () => {
    const text = `before ${secret('x')} after`;
    for (let cut = 0; cut <= text.length; cut++) {
      const found: Found[] = [];
      const search = new OutputSearch((one) => found.push(one));
      search.push(text.slice(0, cut));
      search.push('');
      search.push(text.slice(cut));
      expect(found).toHaveLength(1);
    }
  });

  test('is not found where there is none', () => {
    expect(secretsIn('s3cr3t <redacted> czNjcjN s3cr3tQ')).toEqual([]);
  });
});

test.each<[string, number, string, boolean]>([
  ['/mcp/s1', 200, '{"jsonrpc":"2.0","id":1,"result":{}}', false],
  ['/mcp/s1', 200, '{"jsonrpc":"2.0","id":1,"error":{}}', true],
  ['/mcp/s1', 503, '', true],
  ['/healthz', 200, '{}', true],
  ['/sources/a/runs?x=1', 200, '{}', true],
  ['/artifacts/s1/a/b', 200, 'bytes', false],
])('the answer of %s with %i %s is in our words: %s', (path, status, text, own) => {
  expect(isOwnAnswer(path, status, text)).toBe(own);
});

describe('the result of a run', () => {
  const made: SearchRecord = { kind: 'secret', name: 'api key' };
  const output: SearchRecord = { kind: 'output', source: 'node adapter/main.ts' };
  const found: SearchRecord = { kind: 'found', source: 'node adapter/main.ts', secret: 'apiKey', context: 'x y' };

  test('passes when nothing is found', () => {
    expect(searchResult([made, output, output], ['e2e'])).toEqual({
      suite: 'secrets',
      name: '1 secrets stand nowhere in 2 outputs of programs',
      state: 'passed',
      detail: '',
    });
  });

  test('fails when something is found, whatever was run', () => {
    expect(searchResult([made, output, found], ['cluster'])).toMatchObject({
      state: 'failed',
      detail: 'apiKey in node adapter/main.ts:\nx y',
    });
  });

  test('fails when nothing was searched that should have been', () => {
    expect(searchResult([], ['unit', 'e2e'])).toMatchObject({ state: 'failed', detail: 'Nothing was searched.' });
    expect(searchResult([output], ['heavy'])).toMatchObject({ state: 'failed' });
    expect(searchResult([], ['unit'])).toBeUndefined();
  });
});
