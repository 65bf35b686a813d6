import { expect, test } from 'vitest';

import { JsonStringText } from './json-string-text.ts';

const TEXT = 'a\n"\\\\\u0001é😀\\u0041\\n\t/\ud83d\ude00 \\\\\\" end\\';

function decoded(inside: string, pieceBytes: number): string[] {
  const bytes = Buffer.from(inside);
  const text = new JsonStringText();
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(text.push(bytes.subarray(at, at + pieceBytes)));
  return [...pieces, text.end()];
}

test.each([
  ['as JSON.stringify writes it', JSON.stringify(TEXT).slice(1, -1)],
  [
    'with everything escaped',
    Array.from(
      { length: TEXT.length },
      (_, i) => `\\u${TEXT.charCodeAt(i).toString(16).padStart(4, '0').toUpperCase()}`,
    ).join(''),
  ],
  ['with short escapes', JSON.stringify(TEXT).slice(1, -1).replaceAll('/', '\\/')],
])('a string %s is the same in pieces of any size', (_how, inside) => {
  for (const size of [1, 2, 3, 4, 5, 6, 7, 11, 1000]) {
    const pieces = decoded(inside, size);
    expect(pieces.join('')).toBe(TEXT);
    // Each can be written as UTF-8 alone.
    expect(pieces.map((piece) => Buffer.from(piece).toString()).join('')).toBe(TEXT);
  }
});

test.each(['\\x', '\\u12g4', 'a\nb', '\\'])('%j is in no JSON string', (inside) => {
  expect(() => decoded(inside, 1)).toThrow(SyntaxError);
});

test('what is no UTF-8 is refused', () => {
  const text = new JsonStringText();
  expect(() => text.push(Buffer.from([0xff]))).toThrow(TypeError);
});
