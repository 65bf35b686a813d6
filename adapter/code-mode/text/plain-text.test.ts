import { describe, expect, test } from 'vitest';

import { cut, literal, oneLine, quotation, shownName } from './plain-text.ts';

describe('words of others', () => {
  test('fit on one line', () => {
    expect(oneLine('  a\n\n# b\r\n\t c\u0000d\u2028e\u0085f ', 100)).toBe('a # b c d e f');
  });

  test('are cut, but not within a character', () => {
    expect(cut('abcdef', 4)).toBe('abc…');
    expect(cut('ab😀def', 4)).toBe('ab…');
    expect(oneLine('😀'.repeat(1_000), 9)).toBe('😀😀😀😀…');
    expect(oneLine(`${' '.repeat(1_000)}end`, 9)).toBe('…');
  });

  test('of several lines are marked on each of them, whatever separates lines', () => {
    const separators = ['\n', '\r\n', '\r', '\u000b', '\u000c', '\u0085', '\u2028', '\u2029'];
    for (const separator of separators) expect(quotation(`one${separator}# two`, 100)).toBe('> one\n> # two');
    expect(quotation('\n  a\n\n    code\u0007\n', 100)).toBe('> a\n>\n>     code');
  });
});

describe('a name', () => {
  test.each(['read_file', 'db.query', 'a/b:c-d', '$x', 'Größe', '工具'])('stays as it is: %s', (name) => {
    expect(shownName(name)).toBe(name);
  });

  test.each([
    ['a\n# b', '"a\\n# b"'],
    ['a`b', '"a`b"'],
    ['', '""'],
    ['**a**', '"**a**"'],
    ['a\u200bb', '"a\\u200bb"'],
    ['a\u3164b', '"a\\u3164b"'],
    ['a\u{e0041}', '"a\\u{e0041}"'],
    ['a b', '"a b"'],
  ])('that misleads is shown as a string: %j', (name, shown) => {
    expect(shownName(name)).toBe(shown);
  });

  test('is bounded', () => {
    expect(shownName('x'.repeat(1_000_000)).length).toBeLessThan(300);
  });
});

describe('a value', () => {
  test('is JSON on one line', () => {
    expect(literal({ a: [1, 'x\ny'] }, 100)).toBe('{"a":[1,"x\\ny"]}');
    expect(literal(undefined, 100)).toBe('null');
  });

  test('is bounded, however large or deep it is', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(literal(JSON.parse(deep), 50).length).toBeLessThanOrEqual(52);
    expect(literal('x'.repeat(1_000_000), 50).length).toBeLessThanOrEqual(52);
  });
});
