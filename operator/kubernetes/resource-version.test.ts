import { expect, it } from 'vitest';
import { isOlder } from './resource-version.ts';

it('compares versions as numbers of any size, and calls nothing older that is none', () => {
  expect(isOlder('9', '10')).toBe(true);
  expect(isOlder('10', '9')).toBe(false);
  expect(isOlder('10', '10')).toBe(false);
  expect(isOlder('9007199254740993', '9007199254740994')).toBe(true);
  expect(isOlder(undefined, '1')).toBe(false);
  expect(isOlder('1', undefined)).toBe(false);
  expect(isOlder('1', 'b')).toBe(false);
});
