import { describe, expect, test } from 'vitest';

import { seededRandom } from '../exchange/testing/generate-json.ts';
import { capped, hasInvisible, type TextRules, visibleText, withEscapes } from './visible-text.ts';

const ALL: TextRules = { normalize: true, removeInvisible: true, maxChars: null };
const seen = (text: string): string => visibleText(text, ALL);

describe('a text that models read', () => {
  test.each([
    ['a\u200Bb\u2060c\uFEFFd', 'abcd'],
    ['a\u202Eb\u2066c\u200Fd', 'abcd'],
    ['a\u00ADb\u034Fc\u3164d\u2800e', 'abcde'],
    ['a\u{E0041}\u{E0042}b\u{E0100}c\uFE0Fd', 'abcd'],
    ['a\0b\u0007c\u007Fd\u0085e', 'abcde'],
    ['a\uD800b\uDC00', 'ab'],
    ['a\u2028b\u2029c', 'a\nb\nc'],
    ['a\tb\r\nc', 'a\tb\r\nc'],
    ['\u001B[31mred\u001B[0m \u009B1mbold', 'red bold'],
    ['\u001B]0;a title\u0007b\u001B]8;;https://a/\u001B\\link\u009D0;x\u009C', 'blink'],
    ['\u001B]0;no end', '0;no end'],
    ['e\u200B\u0301', '\u00E9'],
    ['\uFF21\u00A0\u2003\uFB01', 'A  fi'],
  ])('%j is seen as %j', (text, expected) => {
    expect(seen(text)).toBe(expected);
  });

  test.each([
    ['families and couples', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467} \u{1F469}\u200D\u2764\uFE0F\u200D\u{1F468}'],
    ['skin tones', '\u{1F44B}\u{1F3FF} \u{1F469}\u{1F3FD}\u200D\u{1F680} \u{1F468}\u{1F3FB}\u200D\u{1F9B0}'],
    [
      'gender and direction',
      '\u{1F575}\uFE0F\u200D\u2642\uFE0F \u{1F6B6}\u200D\u27A1\uFE0F \u{1F642}\u200D\u2194\uFE0F',
    ],
    ['keys', '1\uFE0F\u20E3 #\uFE0F\u20E3 *\uFE0E'],
    [
      'flags',
      '\u{1F1E9}\u{1F1EA} \u{1F3F3}\uFE0F\u200D\u{1F308} \u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}',
    ],
    ['Persian', '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645'],
    ['Hindi', '\u0915\u094D\u200D\u0937 \u0915\u094D\u200C\u0937'],
    ['HTML and Markdown', '<b>a</b> &#8203; ![b](https://c) <!-- d -->'],
  ])('%s stay', (_, text) => {
    expect(seen(text)).toBe(text);
    expect(seen(`${text}\u200B`)).toBe(text);
  });

  test.each([
    ['\u{1F469}\u200D\u200D\u{1F680}', '\u{1F469}\u{1F680}'],
    ['\u{1F469}\uFE0F\uFE0F', '\u{1F469}\uFE0F'],
    ['\u{1F680}\u200Da', '\u{1F680}a'],
    ['\u{1F3F4}\u{E0041}\u{E0042}\u{E007F}', '\u{1F3F4}'],
    ['\u0645\u200C\u200C\u0645', '\u0645\u0645'],
    ['a\u200C\u0645\u200C.', 'a\u0645.'],
    ['\u0915\u200D\u0937', '\u0915\u0937'],
    ['\u094D\u200D', '\u094D'],
  ])('what such writing does not need goes: %j', (text, expected) => {
    expect(seen(text)).toBe(expected);
  });

  test('each step can be left out', () => {
    const text = '\uFF21\u200B\u00A0B';
    expect(visibleText(text, { ...ALL, normalize: false })).toBe('\uFF21\u00A0B');
    expect(visibleText(text, { ...ALL, removeInvisible: false })).toBe('A\u200B B');
    expect(visibleText(text, { normalize: false, removeInvisible: false, maxChars: null })).toBe(text);
  });

  test('does not get its length before what is invisible is out, nor before it is normalized', () => {
    expect(visibleText(`${'\u200B'.repeat(60_000)}abc`, { ...ALL, maxChars: 3 })).toBe('abc');
    expect(visibleText('\uFB01'.repeat(3), { ...ALL, maxChars: 6 })).toBe('fififi');
    expect(visibleText('\uFB01'.repeat(4), { ...ALL, maxChars: 6 })).toBe('fif...');
  });

  test('is not read to its end when there is hardly anything in it', () => {
    const text = `abc${'\u200B'.repeat(100_000)}def`;
    expect(visibleText(text, ALL)).toBe('abcdef');
    expect(visibleText(text, { ...ALL, maxChars: 6 })).toBe('abc...');
    expect(visibleText(text, { ...ALL, maxChars: 5 })).toBe('ab...');
    expect(visibleText(text, { ...ALL, maxChars: 3 })).toBe('abc');
  });

  test('of one kind of mark after another, the first 30 stay', () => {
    expect(seen(`a${'\u0316'.repeat(30)}b`)).toHaveLength(32);
    expect(seen(`a${'\u0316'.repeat(31)}b`)).toHaveLength(32);
    expect(seen(`a${'\u0316\u200B'.repeat(31)}b`)).toHaveLength(32);
    // Each of them is two marks.
    expect(seen(`\u05D0${'\u0344'.repeat(30)}b`)).toHaveLength(32);
  });

  test('is clean after one time, whatever it is made of', () => {
    const parts = Array.from(
      'a1# \n\u2028\u0300\u0316\u0344\u034F\u00A0\u00A9\uFB01\u200B\u200C\u200D\uFE0E\uFE0F\u{E0100}\u202E\u2800\0' +
        '\u001B\u009B\u009C\u0007][;m\\\uFF3B\uFF9E\uFF76\u0645\u064B\u0654\u0627\u0915\u093C\u094D\u09C7\u09BE\u1100\u1161' +
        '\u{1F469}\u{1F3FD}\u{1F680}\u2764\u2122\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}\u{1D160}\u115F\uFFA0\u0F73\u3099\u304B\u20E3',
    ).concat('\uD83D', '\uDE00', '\u001B[', '\u0915\u094D', '\u0645\u200C');
    const random = seededRandom(7);
    const next = (below: number): number => Math.floor(random() * below);
    for (let round = 0; round < 20_000; round++) {
      const text = Array.from({ length: 1 + next(12) }, () => parts[next(parts.length)]).join('');
      const rules = {
        normalize: next(3) > 0,
        removeInvisible: next(3) > 0,
        maxChars: next(2) > 0 ? 1 + next(9) : null,
      };
      const once = visibleText(text, rules);
      expect(visibleText(once, rules), JSON.stringify({ text, rules })).toBe(once);
    }
  });
});

describe('a cap', () => {
  test.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdefg', 6, 'abc...'],
    ['abcdefg', 4, 'a...'],
    ['abcdefg', 3, 'abc'],
    ['abcdefg', 1, 'a'],
    ['abcdefg', null, 'abcdefg'],
    ['', 1, ''],
    ['\u{1F600}\u{1F600}\u{1F600}\u{1F600}', 4, '\u{1F600}\u{1F600}\u{1F600}\u{1F600}'],
    ['\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}', 4, '\u{1F600}...'],
    ['\u{1F600}\u{1F600}\u{1F600}', 2, '\u{1F600}\u{1F600}'],
    ['\u{1F469}\u200D\u{1F680}abc', 5, '\u{1F469}...'],
    ['\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}', 6, '\u{1F3F4}...'],
  ])('of %j at %j is %j', (text, max, expected) => {
    expect(capped(text, max)).toBe(expected);
  });
});

test.each([
  ['read_file', false],
  ['l\u00E4s', false],
  ['', false],
  ['read\u200B', true],
  ['read\n', true],
  ['read\u2028', true],
  ['read\u{E0041}', true],
  ['read\u001B[8m', true],
  ['\u{1F469}\u200D\u{1F680}', true],
])('the name %j has something invisible: %j', (name, expected) => {
  expect(hasInvisible(name)).toBe(expected);
});

test('words of an upstream show in a log what one cannot see', () => {
  expect(withEscapes('a\u200B\u202E\n\u{E0041}\uD800\u2028 \u00E4')).toBe(
    String.raw`a\u{200b}\u{202e}\u{a}\u{e0041}\u{d800}\u{2028} ä`,
  );
  expect(withEscapes('plain')).toBe('plain');
});
