import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const words = ['port', 'host', 'log_level', 'max_active', 'max_size', 'warning', 'error'];

describe('nearest', () => {
  it.each([
    ['prot', 'port'],
    ['pport', 'port'],
    ['hots', 'host'],
    ['loglevel', 'log_level'],
    ['LOG-LEVEL', 'log_level'],
    ['maxActive', 'max_active'],
    ['warn', 'warning'],
    ['errors', 'error'],
    ['max_sise', 'max_size'],
  ])('%s is near to %s', (word, result) => {
    expect(nearest(word, words)).toBe(result);
  });

  it.each(['', 'x', 'timeout', 'po', 'completely_different', 'x'.repeat(100_000)])(
    '%.20s is near to nothing',
    (word) => {
      expect(nearest(word, words)).toBeUndefined();
    },
  );

  it('prefers the nearest', () => {
    expect(nearest('max_siz', ['max_active', 'max_size'])).toBe('max_size');
  });

  it('knows no word among none', () => {
    expect(nearest('port', [])).toBeUndefined();
  });
});
