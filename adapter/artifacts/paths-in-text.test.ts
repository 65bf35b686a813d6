import { describe, expect, test } from 'vitest';

import { cpuMillis } from '../catalog/testing/cpu-millis.ts';
import { cleanedPaths, pathOf, pathsInText } from './paths-in-text.ts';

const MOST_MILLIS = 200;
const found = (text: string): string[] => pathsInText(text, 64);

describe('paths in a text', () => {
  test.each<[string, string, string[]]>([
    ['alone', '/tmp/a.png', ['/tmp/a.png']],
    ['in a sentence', 'Saved to /tmp/a.png', ['/tmp/a.png']],
    ['after a colon', 'file:/tmp/a.png', ['/tmp/a.png']],
    ['after an equals sign', 'out=/tmp/a.png', ['/tmp/a.png']],
    ['on lines of their own', '/a/b\n/c/d\r\n/e', ['/a/b', '/c/d', '/e']],
    ['quoted, with spaces', 'Saved to "/tmp/my file.png".', ['/tmp/my file.png']],
    ['quoted in JSON', '{"path":"/tmp/a b.png","n":1}', ['/tmp/a b.png']],
    ['in single quotes', "at '/tmp/a b.png'", ['/tmp/a b.png']],
    ['in backticks', 'wrote `/tmp/a b.png` now', ['/tmp/a b.png']],
    ['in a link', '- [Shot](/tmp/a.png)', ['/tmp/a.png']],
    ['in a link, with spaces', '[Shot](</tmp/a b.png>) and more', ['/tmp/a b.png']],
    ['in a link, with parentheses', '[Shot](/tmp/a(1).png)', ['/tmp/a(1).png']],
    ['in a link, with escapes', '[Shot](/tmp/a%20b.png)', ['/tmp/a%20b.png', '/tmp/a b.png']],
    ['in a link, with a title', '[Shot](/tmp/a.png "The shot")', ['/tmp/a.png "The shot"', '/tmp/a.png']],
    ['as a URI', 'see file:///tmp/a%20b.png', ['/tmp/a b.png']],
    ['as a URI in a link', '[x](file:///tmp/a.png)', ['/tmp/a.png']],
    ['as a URI of this host by name', 'FILE://localhost/tmp/a.png', ['/tmp/a.png']],
    ['after words of another script', '已保存到/tmp/a.png', ['/tmp/a.png']],
    ['in bold', '**/tmp/a.png**', ['/tmp/a.png**', '/tmp/a.png*', '/tmp/a.png']],
  ])('are found %s', (_name, text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  test('are tried as they are, then without the punctuation of the sentence', () => {
    expect(found('(see /tmp/a.png).')).toEqual(['/tmp/a.png).', '/tmp/a.png)', '/tmp/a.png']);
  });

  test.each([
    ['https://example.com/tmp/a.png'],
    ['https://example.com/?file=/etc/passwd'],
    ['[x](https://example.com/a/b.png)'],
    ['s3://bucket/key'],
    ['file://other-host/tmp/a.png'],
    ['file:///tmp/%00a'],
    ['file:///tmp/%2Fa'],
    ['relative/path.png'],
    ['./a.png ../b.png ~/c.png'],
    ['and/or 1/2 km/h'],
    ['C:\\files\\a.png'],
    ['// a comment'],
    ['a / b'],
    ['/tmp/folder/'],
    ['<br />'],
    [''],
  ])('are not found in %j', (text) => {
    expect(found(text)).toEqual([]);
  });

  test('are found after a URL', () => {
    expect(found('from https://example.com/a/b to /tmp/a.png')).toEqual(['/tmp/a.png']);
  });

  test('are found once each in order, and not without end', () => {
    const text = Array.from({ length: 500 }, (_, i) => `/tmp/${i}`).join(' ');
    expect(found(text)).toEqual(Array.from({ length: 64 }, (_, i) => `/tmp/${i}`));
  });

  test.each<[string, string]>([
    ['slashes', '/'.repeat(1 << 20)],
    ['letters', 'a'.repeat(1 << 20)],
    ['links that do not end', '](/a'.repeat(1 << 18)],
    ['quotations that do not end', '"/a'.repeat(1 << 18)],
    ['links with spaces', `](/a${' '.repeat(3000)})`.repeat(300)],
    ['schemes', 'a://'.repeat(1 << 18)],
    ['links to folders that do not end', '](/a/ '.repeat(1 << 17)],
  ])('do not take long in a megabyte of %s', (_name, text) => {
    expect(cpuMillis(MOST_MILLIS, () => found(text))).toBeLessThan(MOST_MILLIS);
  });

  test('are found behind many folders', () => {
    expect(found(`${'/tmp/folder/ '.repeat(500)}/tmp/a.png`)).toEqual(['/tmp/a.png']);
  });
});

describe('what a pattern found', () => {
  test.each<[string, string[]]>([
    [' /tmp/a.png ', ['/tmp/a.png']],
    ['"/tmp/a.png"', ['/tmp/a.png']],
    ['`/tmp/a.png`', ['/tmp/a.png']],
    ['/tmp/a.png),', ['/tmp/a.png),', '/tmp/a.png)', '/tmp/a.png']],
    ['file:///tmp/a%20b', ['/tmp/a b']],
    ['a.png', []],
    ['', []],
  ])('%j is cleaned', (text, expected) => {
    expect(cleanedPaths(text)).toEqual(expected);
  });
});

test('is no path with a zero byte in it, or when it is longer than any path', () => {
  expect(pathOf('/tmp/a\0b')).toBeUndefined();
  expect(pathOf(`/${'a'.repeat(4096)}`)).toBeUndefined();
  expect(pathOf(`/${'a'.repeat(4095)}`)).toBeDefined();
});
