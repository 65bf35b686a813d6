import { expect, test } from 'vitest';
import { MemoryFirstTexts } from './memory-first-texts.ts';

test('T17: first texts in memory are bounded: what was used longest ago goes first', () => {
  const texts = new MemoryFirstTexts(1_000);
  for (const name of ['a', 'b', 'c']) texts.set(name, name.repeat(100), 1);
  texts.set('a', 'a'.repeat(100), 1);
  texts.set('d', 'd'.repeat(100), 1);
  expect(['a', 'b', 'c', 'd'].map((name) => texts.get(name, 0)?.length)).toEqual([100, undefined, 100, 100]);
  texts.dropExpired(1);
  expect(['a', 'c', 'd'].map((name) => texts.get(name, 0))).toEqual([undefined, undefined, undefined]);
  for (const name of ['a', 'b', 'c']) texts.set(name, name.repeat(100), 3);
  expect(texts.get('a', 2)).toBeDefined();
});
