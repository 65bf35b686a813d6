import { expect, test } from 'vitest';
import { BaselineTexts } from './baseline-texts.ts';

test('a text stays until its last session has let go of it', () => {
  const texts = new BaselineTexts();
  expect(texts.acquire('f')).toBe('f');
  texts.acquire('f');
  texts.learn('f', 'tools');
  texts.release('f');
  expect(texts.get('f')).toBe('tools');
  expect(texts.all()).toEqual(new Map([['f', 'tools']]));
  texts.release('f');
  expect(texts.get('f')).toBe('');
  expect(texts.all()).toEqual(new Map());
});

test('a text that nobody has is not kept, and one that is known is not forgotten', () => {
  const texts = new BaselineTexts();
  texts.learn('f', 'tools');
  texts.acquire('f');
  expect(texts.get('f')).toBe('');
  expect(texts.all()).toEqual(new Map());
  texts.learn('f', 'tools');
  texts.learn('f', '');
  expect(texts.get('f')).toBe('tools');
});

test('a session without a pin holds nothing', () => {
  const texts = new BaselineTexts();
  expect(texts.acquire(null)).toBeNull();
  texts.release(null);
  texts.release('never acquired');
  expect(texts.all()).toEqual(new Map());
});
