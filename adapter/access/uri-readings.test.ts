import { expect, test } from 'vitest';

import { uriReadings } from './uri-readings.ts';

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
  ['file:///a/%2e%2e/secret', ['file:///a/%2e%2e/secret', 'file:///secret']],
  ['file:///a%2f..%2fsecret', ['file:///a%2f..%2fsecret', 'file:///secret']],
  ['file:///sec\nret', ['file:///sec\nret', 'file:///secret']],
  ['file:///%zz', ['file:///%zz']],
  ['note', ['note']],
  ['a/../b', ['a/../b', 'b']],
  ['http://h/a?x=/../y#z', ['http://h/a?x=/../y#z']],
])('servers may read %j as %j', (uri, readings) => {
  expect(uriReadings(uri)).toEqual(readings);
});
