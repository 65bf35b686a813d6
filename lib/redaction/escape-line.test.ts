import { expect, test } from 'vitest';
import { escapeLine } from './escape-line.ts';

test.each([
  ['CSI of the second range', '\u009B31m', String.raw`\u009b31m`],
  ['next line', '\u0085', String.raw`\u0085`],
  ['delete', '\u007F', String.raw`\u007f`],
  ['line and paragraph separators', '\u2028\u2029', String.raw`\u2028\u2029`],
  ['text turned round', '\u202Eevil', String.raw`\u202eevil`],
  ['a tag, which is invisible', '\u{E0041}', String.raw`\udb40\udc41`],
])('L3: a line has no %s, and says the same', (_what, text, shown) => {
  const line = `${JSON.stringify({ text })}\n`;
  expect(line).toContain(text);
  expect(escapeLine(line)).toBe(`{"text":"${shown}"}\n`);
  expect(JSON.parse(escapeLine(line))).toEqual({ text });
});

test('ordinary text stays', () => {
  const line = `${JSON.stringify({ text: 'Grüße, 世界 🎉 "x" \n \u001B' })}\n`;
  expect(escapeLine(line)).toBe(line);
});
