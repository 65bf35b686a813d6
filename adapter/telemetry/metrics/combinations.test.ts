import { expect, test } from 'vitest';
import { Combinations } from './combinations.ts';

test('makes each combination once', () => {
  const combinations = new Combinations<string>(100);
  let made = 0;
  const get = (...values: (string | number | undefined)[]): string =>
    combinations.get(values, () => {
      made += 1;
      return values.map((value) => `${typeof value} ${value}`).join();
    });
  for (let round = 0; round < 3; round += 1) {
    expect(get('a', 'b', 200)).toBe('string a,string b,number 200');
    expect(get('a', 'b', '200')).toBe('string a,string b,string 200');
    expect(get('a', undefined, 200)).toBe('string a,undefined undefined,number 200');
    expect(get('ab', '', 200)).toBe('string ab,string ,number 200');
  }
  expect(made).toBe(4);
});

test('keeps no more than it may', () => {
  const combinations = new Combinations<number>(10);
  let made = 0;
  const get = (value: number): number => combinations.get(['x', value], () => (made += 1));
  for (let value = 0; value < 10; value += 1) get(value);
  expect(get(3)).toBe(4);
  // One more, and all are forgotten.
  get(10);
  expect([get(3), get(3), made]).toEqual([12, 12, 12]);
});
