import { expect, test } from 'vitest';
import { serverFolder } from './server-folder.ts';

test.each([
  ['search', 'search'],
  ['a.b-c_d~1', 'a.b-c_d~1'],
  ['my server: 1', 'my%20server%3A%201'],
  ['sessions', '%73essions'],
  ['Ü', '%C3%9C'],
  ['\uD800', '%EF%BF%BD'],
])('T7: the folder of server %j is %s', (id, folder) => {
  expect(serverFolder(id)).toBe(folder);
});
