import { expect, test } from 'vitest';
import { ok } from './answer.ts';
import { findRoute, type Route } from './route.ts';

const route = (method: Route['method'], path: string): Route => ({ method, path, answer: () => ok({}) });
const routes = [
  route('GET', '/sources'),
  route('GET', '/sources/{name}'),
  route('POST', '/sources/{name}'),
  route('POST', '/sources/{name}/scrape'),
];

test.each<[string, string, string, string]>([
  ['GET', '/sources', '/sources', ''],
  ['HEAD', '/sources', '/sources', ''],
  ['GET', '/sources/', '/sources', ''],
  ['GET', '/sources/a', '/sources/{name}', 'a'],
  ['GET', '/sources/a%2Fb%20c', '/sources/{name}', 'a/b c'],
  ['GET', '/sources/zo%C3%AB', '/sources/{name}', 'zoë'],
  ['GET', '/sources/scrape', '/sources/{name}', 'scrape'],
  ['GET', '/sources/%2e%2e', '/sources/{name}', '..'],
  ['GET', '/sources/%00', '/sources/{name}', '\0'],
  ['GET', '/sources/%7Bname%7D', '/sources/{name}', '{name}'],
  ['POST', '/sources/a/scrape', '/sources/{name}/scrape', 'a'],
  ['POST', '/sources/a%2fscrape/scrape', '/sources/{name}/scrape', 'a/scrape'],
])('%s %s is %s with the name %j', (method, path, expected, name) => {
  const found = findRoute(routes, method, path);
  expect([found?.route.path, found?.name]).toEqual([expected, name]);
});

test.each([
  '',
  '/',
  '//',
  'sources',
  '*',
  '/Sources',
  '/sources//',
  '/sources//scrape',
  '/sources/a/b/scrape',
  '/sources/../sources/b/c',
  '/sources/a/scrape/%2e%2e',
  '/%73ources',
  '//sources',
  'http://host/sources',
  '/constructor',
  '/__proto__',
])('%j is no path', (path) => {
  expect(findRoute(routes, 'GET', path)).toBeUndefined();
});

test.each([
  ['DELETE', '/sources', 'GET, HEAD'],
  ['DELETE', '/sources/a', 'GET, HEAD, POST'],
  ['GET', '/sources/a/scrape', 'POST'],
  ['HEAD', '/sources/a/scrape', 'POST'],
  ['get', '/sources', 'GET, HEAD'],
])('%s %s is refused with what is allowed', (method, path, allow) => {
  expect(() => findRoute(routes, method, path)).toThrow(
    expect.objectContaining({ status: 405, message: 'Method Not Allowed', headers: { Allow: allow } }),
  );
});

test.each(['/sources/%', '/sources/%zz', '/sources/%ff', '/sources/%C3%28', '/sources/%ED%A0%80'])(
  '%s has no name that can be read',
  (path) => {
    expect(() => findRoute(routes, 'GET', path)).toThrow(expect.objectContaining({ status: 400 }));
  },
);
