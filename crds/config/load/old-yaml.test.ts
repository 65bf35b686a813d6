import { describe, expect, test } from 'vitest';
import { mayDiffer, readDifferently } from './old-yaml.ts';
import { readYaml } from './yaml-source.ts';

const pathsIn = (text: string): string[] => {
  const source = readYaml(text);
  const found = readDifferently(source.value, [], source).map((path) => path.join('.'));
  // The quick look must not miss what the close one finds.
  if (found.length > 0) expect(mayDiffer(text)).toBe(true);
  return found;
};

describe('a value that the original reads as something else', () => {
  // What PyYAML makes of them: True, 15, 8, 1000, 1000.5, 45045, 190.5, "1e3", "1.5e3", "0o17".
  test.each([
    'yes',
    'No',
    'ON',
    'off',
    '017',
    '-010',
    '0b11',
    '1_000',
    '1_000.5',
    '12:30:45',
    '3:10.5',
    '1e3',
    '1e-3',
    '1.5e3',
    '0o17',
  ])('%s', (value) => {
    expect(pathsIn(`a: ${value}`)).toEqual(['a']);
    expect(pathsIn(`a: [x, {b: ${value}}]`)).toEqual(['a.1.b']);
    expect(pathsIn(`- ${value}`)).toEqual(['0']);
    for (const quote of ['"', "'"]) expect(pathsIn(`a: ${quote}${value}${quote}`)).toEqual([]);
  });

  test.each([
    'true',
    'False',
    'null',
    '~',
    '0',
    '00',
    '-5',
    '1.5',
    '1.5e+3',
    '0x1F',
    'y',
    'n',
    'yess',
    'none',
    'text',
    '1.2.3',
    '2025-01-01',
    '.inf',
    '10:99',
    'on fire',
  ])('is not %s', (value) => {
    expect(pathsIn(`a: ${value}`)).toEqual([]);
  });

  test('is found behind an alias', () => {
    expect(pathsIn('a: &a {b: yes}\nc: *a')).toEqual(['a.b', 'c.b']);
  });
});
