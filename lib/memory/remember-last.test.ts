import { expect, test, vi } from 'vitest';
import { rememberLast } from './remember-last.ts';

test('what was said of the last text is said again', () => {
  const of = vi.fn((text: string) => ({ text }));
  const remembered = rememberLast(of);
  const first = remembered('a');
  expect([first, remembered(['a'].join('')), remembered('b'), remembered('a')]).toEqual([
    { text: 'a' },
    { text: 'a' },
    { text: 'b' },
    { text: 'a' },
  ]);
  expect(of.mock.calls).toEqual([['a'], ['b'], ['a']]);
});

test('a failure is not remembered, and neither is a long text', () => {
  const of = vi.fn((text: string) => JSON.parse(text) as unknown);
  const remembered = rememberLast(of);
  const long = JSON.stringify('x'.repeat(70_000));
  for (const text of ['1', long, '1', long]) expect(remembered(text)).toBe(JSON.parse(text));
  expect(of).toHaveBeenCalledTimes(3);
  expect(() => remembered('{')).toThrow(SyntaxError);
  expect(() => remembered('{')).toThrow(SyntaxError);
});
