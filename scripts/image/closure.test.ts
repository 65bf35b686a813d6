import { describe, expect, test } from 'vitest';
import { closure } from './closure.ts';

describe('the packages of an image', () => {
  test('are those that are asked for and all that they need', () => {
    const locked = {
      'node_modules/a': { dependencies: { '@s/b': '1' } },
      'node_modules/@s/b': { optionalDependencies: { c: '1', 'left-out': '1' } },
      'node_modules/c': {},
      'node_modules/unrelated': {},
    };
    expect([...closure(locked, ['a'])].sort()).toEqual(['node_modules/@s/b', 'node_modules/a', 'node_modules/c']);
  });

  test('are taken from the nearest folder, as Node does', () => {
    const locked = {
      'node_modules/a': { dependencies: { b: '2', c: '1' } },
      'node_modules/a/node_modules/b': { dependencies: { d: '2', c: '1' } },
      'node_modules/a/node_modules/b/node_modules/d': { dependencies: { c: '1' } },
      'node_modules/b': {},
      'node_modules/c': { dependencies: { a: '1' } },
      'node_modules/d': {},
    };
    expect([...closure(locked, ['a'])].sort()).toEqual([
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/a/node_modules/b/node_modules/d',
      'node_modules/c',
    ]);
  });

  test('have their peers, unless these are optional, and no types', () => {
    const locked = {
      'node_modules/a': {
        dependencies: { '@types/node': '1' },
        peerDependencies: { b: '1', c: '1' },
        peerDependenciesMeta: { c: { optional: true } },
      },
      'node_modules/b': {},
      'node_modules/c': {},
      'node_modules/@types/node': {},
    };
    expect([...closure(locked, ['a'])].sort()).toEqual(['node_modules/a', 'node_modules/b']);
  });
});
