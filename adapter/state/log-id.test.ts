import { describe, expect, test } from 'vitest';
import { isLogId, logIdAfter, nextLogId } from './log-id.ts';

describe('nextLogId', () => {
  test('a new millisecond starts a new sequence', () => {
    expect(nextLogId('1000-5', 1001)).toBe('1001-0');
  });
  test.each([1000, 999])('at %i the id still grows', (now) => {
    expect(nextLogId('1000-5', now)).toBe('1000-6');
  });
});

describe('logIdAfter', () => {
  test.each([
    ['1000-10', '1000-9', true],
    ['1001-0', '1000-9', true],
    ['10000-0', '9999-0', true],
    ['1000-9', '1000-9', false],
    ['1000-8', '1000-9', false],
    ['999-10', '1000-9', false],
    ['1000-9', 'something of the client', false],
  ])('%s comes after %s: %s', (id, other, expected) => {
    expect(logIdAfter(id, other)).toBe(expected);
  });
});

test('only milliseconds and sequence make an id', () => {
  expect(isLogId('1000-0')).toBe(true);
  for (const text of ['', '1000', '-1', '1000-', 'a-b', '1000-0 ', '$', '9'.repeat(40)])
    expect(isLogId(text)).toBe(false);
});
