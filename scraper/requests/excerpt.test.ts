import { expect, test } from 'vitest';
import { excerpt } from './excerpt.ts';

test('one line of at most 200 characters', () => {
  expect(excerpt('  {"error":\n\t"no\u0000 such  user"}\r\n', [], true)).toBe('{"error": "no such user"}');
  expect(excerpt('x'.repeat(201), [], true)).toBe(`${'x'.repeat(200)}…`);
});

test('no secret in any of its forms, also where it would be cut', () => {
  const secret = 'a"b c/ü';
  const text = ['plain', secret, JSON.stringify(secret), encodeURIComponent(secret)].join(' ');
  expect(excerpt(text, [secret], true)).toBe('plain <redacted> "<redacted>" <redacted>');
  expect(excerpt(`${'x'.repeat(195)}topsecret`, ['topsecret'], true)).toBe(`${'x'.repeat(195)}<reda…`);
  // The longer one first, or its rest would stand there.
  expect(excerpt('token-12345', ['token', 'token-12345'], true)).toBe('<redacted>');
});

test.each([
  ['as in a form', 'a%22b+c%2F%C3%BC%27%2B%25'],
  ['as in a URL that leaves what it can', "a%22b%20c/%C3%BC'+%"],
  ['as in HTML', 'a&quot;b c/ü&#39;+%'],
])('no secret %s', (_, text) => {
  expect(excerpt(`before ${text} after`, ['a"b c/ü\'+%'], true)).toBe('before <redacted> after');
});

test('of a secret no long part either, in whatever form the rest is', () => {
  const secret = 'é:0123456789abcdef:é';
  expect(excerpt('Ã©:0123456789abcdef:\uFFFD', [secret], true)).toBe('Ã©:<redacted>:\uFFFD');
});

test('the end of an answer that was not read to its end may be half a secret', () => {
  expect(excerpt('password is topsec', ['topsecret'], false)).toBe('password');
  expect(excerpt('password is', [], false)).toBe('password is');
});

test('what is too short to be told from ordinary text stays', () => {
  expect(excerpt('a or b', ['or', ''], true)).toBe('a or b');
});
