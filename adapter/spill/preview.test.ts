import { expect, test } from 'vitest';

import { Preview } from './preview.ts';

const line = (leftOut: number): string => `<${leftOut}>`;

test('three quarters are of the beginning, a quarter is of the end, however the text comes', () => {
  const text = Array.from({ length: 1000 }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');
  for (const size of [1, 3, 74, 75, 76, 500, 2000]) {
    const preview = new Preview(100);
    for (let at = 0; at < text.length; at += size) preview.push(text.slice(at, at + size));
    expect(preview.chars).toBe(1000);
    expect(preview.with(line)).toBe(`${text.slice(0, 75)}\n\n<900>\n\n${text.slice(-25)}`);
  }
});

test('no pair is cut', () => {
  const preview = Preview.of(`x${'😀'.repeat(100)}`, 8);
  expect(preview.with(line)).toBe('x😀😀\n\n<194>\n\n😀');
});
