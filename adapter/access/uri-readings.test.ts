import { expect, test } from 'vitest';

import { uriAliases, uriReadings } from './uri-readings.ts';

test.each([
  ['file:///a/b', ['file:///a/b']],
  ['doc://public/{id}', ['doc://public/{id}']],
  ['file:///a/../secret', ['file:///a/../secret', 'file:///secret']],
  ['file:///a/./b', ['file:///a/./b', 'file:///a/b']],
  ['file:///../../x', ['file:///../../x', 'file:///x']],
  ['file:////secret', ['file:////secret', 'file:///secret']],
  ['file:///a\\..\\secret', ['file:///a\\..\\secret', 'file:///secret']],
  ['FILE:///secret', ['FILE:///secret', 'file:///secret']],
  ['doc://Public/x', ['doc://Public/x', 'doc://public/x']],
  ['file:///%73ecret', ['file:///%73ecret', 'file:///secret']],
  ['file:///a/%2e%2e/secret', ['file:///a/%2e%2e/secret', 'file:///a/../secret', 'file:///secret']],
  ['file:///a%2f..%2fsecret', ['file:///a%2f..%2fsecret', 'file:///a/../secret', 'file:///secret']],
  [' file:///secret ', [' file:///secret ', 'file:///secret']],
  ['fetch://https:%2f%2fintra/x', ['fetch://https:%2f%2fintra/x', 'fetch://https://intra/x', 'fetch://https:/intra/x']],
  ['file:///sec\nret', ['file:///sec\nret', 'file:///secret']],
  ['file:///%zz', ['file:///%zz']],
  ['note', ['note']],
  ['a/../b', ['a/../b', 'b']],
  ['http://h/a?x=/../y#z', ['http://h/a?x=/../y#z']],
])('servers may read %j as %j', (uri, readings) => {
  expect(uriReadings(uri)).toEqual(readings);
});

/** What is encoded may hide a path from who decodes before parsing, or from who parses before decoding. */
const HIDDEN = [
  'file:///public/%2e%2e/secret/key',
  'file:///public/%2e%2e/secret/key?%ff',
  'file:///secre%74/key?%ff',
  'file:///%ff/../secret/key',
  'file:///a%3f/%2e%2e/secret/key',
  'file:///a%23/%2E./secret/key',
  'file:///x%2fy/../secre%74/key',
  'file:///%2e/secret/key',
  'file:///x%2f..%2fsecret/../secret/key',
];

test.each(HIDDEN)('%s is read as the parser of the platform reads it', (uri) => {
  const { pathname, search } = new URL(uri);
  expect(pathname).toMatch(/^\/secre(?:t|%74)\/key$/);
  const query = search === '' ? '' : '?\uFFFD';
  expect(uriReadings(uri)).toContain(`file:///secret/key${query}`);
});

test.each([
  ['file:///secret/key?', 'file:///secret/key'],
  ['file:///secret/key#part', 'file:///secret/key'],
  ['file:///secret/key/', 'file:///secret/key'],
  ['file:///secret/%6bey?x=1#y', 'file:///secret/key'],
  ['file://localhost/secret/key', 'file:///secret/key'],
  ['file:/secret/key', 'file:///secret/key'],
  ['http://anna@h:80/secret', 'http://h/secret'],
  ['http://h', 'http://h/'],
  ['postgres://h/secret/schema?', 'postgres://h/secret/schema'],
  ['note?x', 'note'],
])('some servers take %s for %s', (uri, alias) => {
  expect(uriAliases(uri)).toContain(alias);
  expect(uriReadings(uri)).not.toContain(alias);
});

test('a URI of spaces, slashes and percent signs is read in linear time', () => {
  const read = (length: number): number => {
    const uris = [' ', '/', '%2e', '%2f', '../', '%ff'].map((part) => `file:///${part.repeat(length)}x`);
    const before = performance.now();
    for (const uri of uris) uriAliases(uri).concat(uriReadings(uri));
    return performance.now() - before;
  };
  read(1_000);
  // Forty times as long: squared, it would take 1600 times as long.
  expect(read(40_000)).toBeLessThan(400 * Math.max(read(1_000), 0.1));
});
