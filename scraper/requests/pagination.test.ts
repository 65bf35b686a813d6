import { describe, expect, test } from 'vitest';
import { Pagination } from '../../crds/config/scraper-file/pagination.ts';
import { pagesOf } from './pagination.ts';

const answer = (link: string, url: string) => ({
  body: [],
  headers: { link: `<${link}>; rel="next"` },
  records: 1,
  url,
});

describe('T21: the same host', () => {
  const next = (link: string, url: string, sameHost = true): string | undefined => {
    const pages = pagesOf(Pagination.parse({ type: 'nextLink', sameHost }));
    return pages.next(pages.first, answer(link, url))?.url;
  };

  test.each([
    ['https://h/b?x=1', 'https://h/a', 'https://h/b?x=1'],
    ['b#top', 'https://h/a/', 'https://h/a/b'],
    ['https://h:443/b', 'https://h/a', 'https://h/b'],
    ['https://h/b', 'http://h/a', 'https://h/b'],
    ['https://user:secret@h/b', 'https://h/a', 'https://h/b'],
  ])('%s after %s', (link, url, expected) => {
    expect(next(link, url)).toBe(expected);
  });

  test.each([
    ['http://h/b', 'https://h/a'],
    ['https://h:8443/b', 'https://h/a'],
    ['https://h.evil.example/b', 'https://h/a'],
    ['//other/b', 'https://h/a'],
    ['https://h:8443/b', 'http://h/a'],
  ])('is not %s after %s', (link, url) => {
    expect(() => next(link, url)).toThrow(/sameHost is true/);
    expect(next(link, url, false)).toBeDefined();
  });
});

test('without pagination there is one page', () => {
  const pages = pagesOf(null);
  expect(pages.next(pages.first, answer('https://h/b', 'https://h/a'))).toBeUndefined();
});
