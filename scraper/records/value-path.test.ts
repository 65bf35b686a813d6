import { describe, expect, test } from 'vitest';
import { parseJson } from './json-body.ts';
import { ShapeMismatch } from './shape-mismatch.ts';
import { compilePath } from './value-path.ts';

const record = {
  a: { b: { c: { d: 1 } }, text: 'x' },
  'x.y': { z: 2 },
  list: [{ x: 1 }, { x: 2, tags: ['p', 'q'] }],
  'cpu[0]': 99,
  nothing: null,
  no: false,
  zero: 0,
};

const look = (path: string): unknown => compilePath(path)(record, { meta: { env: 'eu' }, list: [10, 20] });

describe('a value path', () => {
  test.each<[string, unknown]>([
    ['a', record.a],
    ['a.text', 'x'],
    ['a.b.c', { d: 1 }],
    ['a.b.c.d', 1],
    ['a..text', 'x'],
    ['.a.text.', 'x'],
    ['x/.y.z', 2],
    ['nothing', null],
    ['no', false],
    ['zero', 0],
    ['', record],
    ['.', record],
    ['$root.meta.env', 'eu'],
    ['$root.', { meta: { env: 'eu' }, list: [10, 20] }],
  ])('%s leads to its value', (path, value) => {
    expect(look(path)).toEqual(value);
  });

  test.each([
    'b',
    'a.x',
    'a.text.length',
    'a.b.c.d.e',
    'nothing.x',
    'list.x',
    'list.0',
    'list.length',
    '$root',
    '$root.nope',
    ' a',
  ])('%s leads nowhere: null', (path) => {
    expect(look(path)).toBeNull();
  });

  test.each<[string, unknown]>([
    ['list[0].x', 1],
    ['list[-1].x', 2],
    ['list[1].tags[1]', 'q'],
    ['list[5].x', null],
    ['a[0]', null],
    ['nope[0]', null],
    ['list[].x', null],
    ['list[0:1].x', null],
    ['$root.list[1]', 20],
    ['cpu[0]', 99],
  ])('%s addresses elements of lists, but for a field of that very name', (path, value) => {
    expect(look(path)).toEqual(value);
  });

  test('indexes lists in lists, and records that are lists', () => {
    expect(compilePath('m[1][0]')({ m: [[1], [2, 3]] })).toBe(2);
    expect(compilePath('[1].x')([{ x: 1 }, { x: 2 }])).toBe(2);
  });

  test.each(['constructor', 'toString', '__proto__', 'a.hasOwnProperty', 'list.at'])(
    '%s is not found in what objects inherit',
    (path) => {
      expect(look(path)).toBeNull();
    },
  );

  test('finds fields that are named like what objects inherit', () => {
    const odd = JSON.parse('{"constructor":1,"__proto__":2,"text":3,"length":4,"7":5}') as unknown;
    expect(['constructor', '__proto__', 'text', 'length', '7'].map((path) => compilePath(path)(odd))).toEqual([
      1, 2, 3, 4, 5,
    ]);
  });

  test('does not look into a number that is kept as text', () => {
    const exact = parseJson('{"n":1.0}', { exact: true });
    expect(['n.text', 'n.value', 'n.isInteger'].map((path) => compilePath(path)(exact))).toEqual([null, null, null]);
  });

  test.each([5, null, 'text', true])('leads nowhere in the record %j', (scalar) => {
    expect(compilePath('a.b')(scalar)).toBeNull();
  });

  test.each([[[]], [null], [undefined], [5]])(
    'that starts at the root needs an answer that is an object, not %j',
    (root) => {
      expect(() => compilePath('$root.x')({}, root)).toThrow(ShapeMismatch);
    },
  );
});
