import { expect, test } from 'vitest';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { pythonFloat } from './python-float.ts';

test.each<[unknown, number]>([
  [5, 5],
  [1.5, 1.5],
  [true, 1],
  [false, 0],
  [new ExactNumber('1.0'), 1],
  [new ExactNumber('12345678901234567890'), 12345678901234567000],
  ['1', 1],
  [' 1.5\n', 1.5],
  ['1.', 1],
  ['.5', 0.5],
  ['+1', 1],
  ['-1e3', -1000],
  ['1_000.5_0', 1000.5],
  ['1_0e1_0', 10e10],
  ['1e400', Infinity],
  ['nan', Number.NaN],
  ['-NaN', Number.NaN],
  ['inf', Infinity],
  ['-Infinity', -Infinity],
])('%j is the number %d', (value, number) => {
  expect(pythonFloat(value)).toBe(number);
});

test.each([
  null,
  undefined,
  [],
  {},
  [1],
  '',
  ' ',
  'abc',
  '0x10',
  '1e',
  '_1',
  '1_',
  '1__0',
  '1_.5',
  '1._5',
  '--1',
  '1 2',
  'infinit',
  '1,5',
])('%j is none', (value) => {
  expect(pythonFloat(value)).toBeUndefined();
});
