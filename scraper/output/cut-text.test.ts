import { expect, test } from 'vitest';
import { cutText } from './cut-text.ts';

test('H6 T17: a text of more than 1,024 characters is its beginning, in whole characters', () => {
  const long = 'x'.repeat(1024);
  expect(cutText(long)).toBe(long);
  expect(cutText(`${long}y`)).toBe(long);
  expect(cutText(`${'é'.repeat(1023)}😀`)).toBe('é'.repeat(1023));
  expect(cutText(`${'é'.repeat(1022)}😀y`)).toBe(`${'é'.repeat(1022)}😀`);
  // Half a character that the text itself has is not ours to mend.
  expect(cutText(`\uD800${long}`)).toBe(`\uD800${'x'.repeat(1023)}`);
});
