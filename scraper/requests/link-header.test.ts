import { expect, test } from 'vitest';
import { nextLink } from './link-header.ts';

test.each([
  ['<https://h/x?page=2>; rel="next"', 'https://h/x?page=2'],
  ['<https://h/1>; rel="first", <https://h/2>; rel="next", <https://h/9>; rel="last"', 'https://h/2'],
  ['<https://h/a,b;c?x=1>; rel=next', 'https://h/a,b;c?x=1'],
  ['</x?page=2>;title="a, \\"b\\"; rel=\\"prev\\"" ; REL="prev NEXT"', '/x?page=2'],
  ['<https://h/1>; rel="prev"; rel="next"', undefined],
  ['<https://h/1>; rel="nextish", <https://h/2>', undefined],
  ['<https://h/1>;rel="prev",<https://h/2>;rel="next"', 'https://h/2'],
  ['nonsense; rel="next"', undefined],
  ['', undefined],
  [undefined, undefined],
])('Link: %s', (header, target) => {
  expect(nextLink(header)).toBe(target);
});

test('several headers', () => {
  expect(nextLink(['<https://h/1>; rel="prev"', '<https://h/2>; rel="next"'])).toBe('https://h/2');
});
