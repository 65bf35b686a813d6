import { describe, expect, test } from 'vitest';
import { compileDataKey } from './data-key.ts';
import { InvalidSetting } from './invalid-setting.ts';
import { parseJson } from './json-body.ts';
import { ShapeMismatch } from './shape-mismatch.ts';

/** Facts 15.2. */
const body: unknown = JSON.parse(
  '{"a":{"b":[{"x":1},{"x":2}]},"list":[{"i":[{"z":1},{"z":2}]},{"i":[{"z":3}]}],"obj":{"k":1},"s":5,"null":null,' +
    '"m":[1,2],"mm":[[{"q":1}],[{"q":2}]],"empty":[],"x.y":{"z":[{"w":1}]},"mixed":[{"a":1},2]}',
);

describe('dataKey', () => {
  test.each<[string, unknown[]]>([
    ['a.b', [{ x: 1 }, { x: 2 }]],
    ['a.b[]', [{ x: 1 }, { x: 2 }]],
    ['a..b', [{ x: 1 }, { x: 2 }]],
    ['a.b[0]', [{ x: 1 }]],
    ['a.b[-1]', [{ x: 2 }]],
    ['a.b[0:1]', [{ x: 1 }]],
    ['a.b[-1:]', [{ x: 2 }]],
    ['a.b[:]', [{ x: 1 }, { x: 2 }]],
    ['a.b[5:]', []],
    ['list[].i', [{ z: 1 }, { z: 2 }, { z: 3 }]],
    ['list[].i[]', [{ z: 1 }, { z: 2 }, { z: 3 }]],
    ['list[0].i', [{ z: 1 }, { z: 2 }]],
    ['mm[]', [{ q: 1 }, { q: 2 }]],
    ['obj', [{ k: 1 }]],
    ['.', [body]],
    ['x/.y.z', [{ w: 1 }]],
    ['empty', []],
    ['empty[]', []],
  ])('%s gives its records', (dataKey, records) => {
    expect(compileDataKey(dataKey)(body)).toEqual(records);
  });

  test.each([
    'a.b.x',
    'list.i',
    'nope',
    'nope[]',
    'null',
    '$root.a.b',
    '[0]',
    '[]',
    ' obj',
    'constructor',
    '__proto__',
    'a.b[1.5]',
  ])('%s gives no records', (dataKey) => {
    expect(compileDataKey(dataKey)(body)).toEqual([]);
  });

  test.each<[string, string]>([
    ['a.b[5]', 'b has no element 5: it is a list of 2'],
    ['a.b[-3]', 'b has no element -3: it is a list of 2'],
    ['a.b[].x', 'dataKey must lead to objects, but it leads to a number'],
    ['s', 'dataKey must lead to objects, but it leads to a number'],
    ['m', 'dataKey must lead to a list of objects, but element 0 of the list is a number'],
    ['m[]', 'dataKey must lead to objects, but it leads to a number'],
    ['mm', 'dataKey must lead to a list of objects, but element 0 of the list is a list'],
    ['mixed', 'dataKey must lead to a list of objects, but element 1 of the list is a number'],
    ['mixed[]', 'dataKey must lead to objects, but it leads to a number'],
    ['a[]', 'a must be a list, but it is an object'],
    ['obj[0]', 'obj must be a list, but it is an object'],
  ])('%s is a mismatch: %s', (dataKey, message) => {
    expect(() => compileDataKey(dataKey)(body)).toThrow(new ShapeMismatch(message));
  });

  test.each(['a.b[::2]', 'mm[][]', 'a.b[x]', 'a.b[0][0]'])('%s is refused before there is an answer', (dataKey) => {
    expect(() => compileDataKey(dataKey)).toThrow(InvalidSetting);
    expect(() => compileDataKey(dataKey)).toThrow(/^dataKey: /);
  });

  test.each([null, ''])('%j takes the answer as the list, whatever its elements are', (dataKey) => {
    expect(compileDataKey(dataKey)([1, 'a', null])).toEqual([1, 'a', null]);
  });

  test.each([{}, null, 5, 'text'])('null refuses %j as the answer', (answer) => {
    expect(() => compileDataKey(null)(answer)).toThrow(ShapeMismatch);
  });

  test('gives no records of an answer that is null', () => {
    expect(compileDataKey('a.b')(null)).toEqual([]);
  });

  describe('that is required', () => {
    test.each<[string, string]>([
      ['nope', 'nope'],
      ['nope.b[]', 'nope'],
      ['a.nope', 'nope'],
      ['a.b[].nope', 'nope'],
      ['null', 'null'],
      ['list.i', 'i'],
    ])('%s is a mismatch: there is nothing at %s', (dataKey, name) => {
      const message = `The answer has nothing at ${name}, and dataKeyRequired is true`;
      expect(() => compileDataKey(dataKey, true)(body)).toThrow(new ShapeMismatch(message));
      expect(compileDataKey(dataKey)(body)).toEqual([]);
    });

    test.each<[string, unknown, unknown[]]>([
      ['empty', body, []],
      ['empty[]', body, []],
      ['empty[].more', body, []],
      ['a.b', body, [{ x: 1 }, { x: 2 }]],
      ['list[].i', { list: [{}, { i: [{ z: 1 }] }] }, [{ z: 1 }]],
      ['.', body, [body]],
    ])('%s has what it asks for', (dataKey, answer, records) => {
      expect(compileDataKey(dataKey, true)(answer)).toEqual(records);
    });

    test('is a mismatch in an answer that is null', () => {
      expect(() => compileDataKey('a.b', true)(null)).toThrow(ShapeMismatch);
    });
  });

  test('does not take a number that is kept as text for an object', () => {
    const exact = parseJson('{"n":1.0,"l":[1.0]}', { exact: true });
    expect(() => compileDataKey('n')(exact)).toThrow(ShapeMismatch);
    expect(() => compileDataKey('l')(exact)).toThrow(ShapeMismatch);
    expect(compileDataKey('n.text')(exact)).toEqual([]);
  });

  test('takes lists of more elements than a call has arguments', () => {
    const many = Array.from({ length: 150_000 }, (_, id) => ({ id }));
    expect(compileDataKey('a[].b')({ a: [{ b: many }] })).toHaveLength(150_000);
    expect(compileDataKey('a[]')({ a: many })).toHaveLength(150_000);
  });
});
