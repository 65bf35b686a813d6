import { expect, test } from 'vitest';
import { compileSearch } from './python-regex.ts';

test.each<[string, string]>([
  ['b', 'abc'],
  ['^a.c$', 'abc'],
  ['c$', 'abc\n'],
  [String.raw`\Aabc\Z`, 'abc'],
  ['(?P<name>b)', 'abc'],
  ['(?i)ABC', 'abc'],
  ['(?i:B)c', 'aBc'],
  ['(?s)a.c', 'a\nc'],
  ['(?m)^b$', 'a\nb\nc'],
  ['(?u)b', 'abc'],
  ['a(?#comment)b', 'ab'],
  ['^a{,2}b', 'aab'],
  [String.raw`^\w+$`, 'zoë'],
  [String.raw`^[\w-]+$`, 'zo-ë'],
  [String.raw`^\d$`, '٣'],
  [String.raw`^[\d]$`, '٣'],
  [String.raw`^a\sb$`, 'a\u00A0b'],
  [String.raw`^a[\s]b$`, 'a\u2003b'],
  [String.raw`^a[\s\S]b$`, 'aëb'],
  [String.raw`[\b]`, '\b'],
  [String.raw`\bcde\b`, 'ab cde fg'],
  ['^[]a]$', ']'],
  ['[^]a]', 'b'],
  [String.raw`[\]$]`, '$'],
  [String.raw`\$\{`, '${'],
  [String.raw`\u00eb`, 'zoë'],
  [String.raw`[\u00eb]\U0001F600`, 'ë\u{1F600}'],
  [String.raw`a\ b\-c\"\é`, 'a b-c"é'],
  ['a$|b', 'abc'],
  ['', 'abc'],
])('%s is found in %j', (pattern, text) => {
  expect(compileSearch(pattern)(text)).toBe(true);
});

test.each<[string, string]>([
  ['^b', 'abc'],
  ['b$', 'abc'],
  ['c$', 'abc\n\n'],
  [String.raw`abc\Z`, 'abc\n'],
  ['a.c', 'a\nc'],
  ['ABC', 'abc'],
  [String.raw`\W`, 'ë'],
  [String.raw`\D`, '٣'],
  [String.raw`[\D]`, '٣'],
  [String.raw`(?a)\w`, 'ë'],
  [String.raw`^a\Sb$`, 'a\u00A0b'],
  ['^a{,2}$', 'aaa'],
])('%s is not found in %j', (pattern, text) => {
  expect(compileSearch(pattern)(text)).toBe(false);
});

test.each(['(', '[a', '*a', 'a(?=b)', '(?<!a)b', String.raw`(a)\1`, '(?P<n>a)(?P=n)', 'a++', '(?>a)', '(?x) a'])(
  '%s is refused',
  (pattern) => {
    expect(() => compileSearch(pattern)).toThrow(Error);
  },
);

test('no pattern takes more than linear time', () => {
  expect(compileSearch('^(a+)+$')(`${'a'.repeat(50_000)}b`)).toBe(false);
});
