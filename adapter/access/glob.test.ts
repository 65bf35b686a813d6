import { describe, expect, test } from 'vitest';

import { glob } from './glob.ts';

describe('a pattern', () => {
  test.each([
    ['read', 'read', true],
    ['read', 'reader', false],
    ['read*', 'read', true],
    ['read*', 'reader', true],
    ['*read', 'unread', true],
    ['*', '', true],
    ['a*b', 'ab', true],
    ['a*a', 'a', false],
    ['ab*ba', 'aba', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['a**c', 'abc', true],
    ['a.c', 'abc', false],
    ['[a]?', '[a]?', true],
    ['user:*', 'token:user:x', false],
  ])('%s fits %s: %s', (pattern, text, fits) => {
    expect(glob(pattern)(text)).toBe(fits);
  });

  test('T12: takes no longer for a text that almost fits', () => {
    const fits = glob(`${'a*'.repeat(120)}b`);
    const started = process.threadCpuUsage();
    expect(fits('a'.repeat(1_000_000))).toBe(false);
    expect(process.threadCpuUsage(started).user / 1_000).toBeLessThan(500);
  });
});
