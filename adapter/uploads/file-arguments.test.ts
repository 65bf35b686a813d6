import { describe, expect, test } from 'vitest';

import { MAX_SESSION_FILES } from '../state/file-records.ts';
import { fileArguments, withFileArgument, withFileArguments } from './file-arguments.ts';

const call = (args: string): string =>
  `{"jsonrpc":"2.0", "id":12345678901234567890,"method":"tools/call","params":{"name":"t", "arguments" : ${args} ,"_meta":{"x":1.0}}}`;
const found = (args: string, path = 'a'): unknown => {
  const result = fileArguments(call(args), path.split('.'));
  return result.kind === 'values' ? result.values.map(({ value }) => value) : result;
};
const type = { kind: 'refused', problem: 'type' };
const many = { kind: 'refused', problem: 'many' };
const ambiguous = { kind: 'refused', problem: 'ambiguous' };

describe('the file argument of a call', () => {
  test.each<[string, string, string[]]>([
    ['{"a":"x"}', 'a', ['x']],
    ['{"a":["x", "y" ,"x"]}', 'a', ['x', 'y', 'x']],
    ['{"a":[]}', 'a', []],
    ['{"z":1,"a":{"b":{"c":"x"}}}', 'a.b.c', ['x']],
    ['{"a":[{"b":"x"},{"b":["y","z"]}]}', 'a.b', ['x', 'y', 'z']],
    ['{"a":[[{"b":"x"}],[]]}', 'a.b', ['x']],
    [
      '{"a":{"files":[{"path":"x"},{"path":"y","other":"no"},{"other":"no"},{"path":null}]}}',
      'a.files.path',
      ['x', 'y'],
    ],
    ['{"a":[]}', 'a.b', []],
    [String.raw`{"\u0061":"\u0078\n"}`, 'a', ['x\n']],
  ])('is found in %s at %s', (args, path, values) => {
    expect(found(args, path)).toEqual(values);
  });

  test.each<[string, string, number]>([
    ['{}', 'a', 0],
    ['null', 'a', 0],
    ['{"a":null}', 'a', 0],
    ['{"b":"x"}', 'a', 0],
    ['{"a":{}}', 'a.b', 1],
    ['{"a":null}', 'a.b', 1],
    ['{"a":{"b":null}}', 'a.b', 1],
    ['{"a":[{},{"c":1}]}', 'a.b', 1],
    ['{}', 'a.b.c', 0],
  ])('is absent in %s at %s', (args, path, depth) => {
    expect(found(args, path)).toEqual({ kind: 'absent', depth });
  });

  test('is absent where there are no arguments', () => {
    expect(fileArguments('{"method":"tools/call","params":{"name":"t"}}', ['a'])).toEqual({ kind: 'absent', depth: 0 });
    expect(fileArguments('{"method":"tools/call"}', ['a'])).toEqual({ kind: 'absent', depth: 0 });
  });

  test.each<[string, string]>([
    ['{"a":7}', 'a'],
    ['{"a":true}', 'a'],
    ['{"a":{"path":"x"}}', 'a'],
    ['{"a":["x",7]}', 'a'],
    ['{"a":["x",null]}', 'a'],
    ['{"a":[["x"]]}', 'a'],
    ['{"a":"x"}', 'a.b'],
    ['{"a":[{"b":"x"},"/etc/passwd"]}', 'a.b'],
    ['"x"', 'a'],
    ['["x"]', 'a'],
  ])('must be a string or a list of strings: %s at %s', (args, path) => {
    expect(found(args, path)).toEqual(type);
  });

  test.each<[string, string]>([
    ['{"a":"x","a":"/etc/passwd"}', 'a'],
    [String.raw`{"a":"x","\u0061":"/etc/passwd"}`, 'a'],
    ['{"a":"x","A":"/etc/passwd"}', 'a'],
    ['{"A":"/etc/passwd"}', 'a'],
    ['{"a":{"b":"x"},"a":{"b":"/etc/passwd"}}', 'a.b'],
    ['{"a":[{"b":"x"},{"B":"/etc/passwd"}]}', 'a.b'],
    ['{"as":"x","a\u017f":"/etc/passwd"}', 'as'],
  ])('must mean the same to every parser: %s at %s', (args, path) => {
    expect(found(args, path)).toEqual(ambiguous);
  });

  test.each([
    ['strings', '""', 'a'],
    ['numbers', '0', 'a'],
    ['objects', '{}', 'a.b'],
    ['lists', '[]', 'a.b'],
  ])('must not be in a list of ever more %s', (_name, element, path) => {
    const list = (count: number): string => `{"a":[${Array.from({ length: count }, () => element).join(',')}]}`;
    expect(found(list(MAX_SESSION_FILES), path)).not.toEqual(many);
    expect(found(list(MAX_SESSION_FILES + 1), path)).toEqual(element === '0' ? type : many);
  });

  test('must stand in arguments of that name', () => {
    const body = '{"method":"tools/call","params":{"name":"t","Arguments":{"a":"/etc/passwd"}}}';
    expect(fileArguments(body, ['a'])).toEqual(ambiguous);
  });
});

describe('other values', () => {
  test('replace the strings and not a byte beside them', () => {
    const body = call('{"n":1e400, "a":[{"b" : "x"} ,{"b":["y", "z"]}],"é":"x"}');
    const read = fileArguments(body, ['a', 'b']);
    if (read.kind !== 'values') throw new Error(read.kind);
    expect(withFileArguments(body, read.values, ['"/1"', '"/2"', '"/3"'])).toBe(
      call('{"n":1e400, "a":[{"b" : "/1"} ,{"b":["/2", "/3"]}],"é":"x"}'),
    );
  });
});

describe('a value where there was none', () => {
  test.each<[string, string, string]>([
    ['{}', 'a', '{"a":"v"}'],
    ['{ "z" : 1 }', 'a', '{"a":"v", "z" : 1 }'],
    ['{"z":1,"a":null}', 'a', '{"z":1,"a":"v"}'],
    ['{"z":1}', 'a.b', '{"a":{"b":"v"},"z":1}'],
    ['{"a":{"z":1}}', 'a.b', '{"a":{"b":"v","z":1}}'],
    ['{"a":null}', 'a.b', '{"a":{"b":"v"}}'],
    ['null', 'a', '{"a":"v"}'],
  ])('is put into %s at %s', (args, path, expected) => {
    expect(withFileArgument(call(args), path.split('.'), '"v"')).toBe(call(expected));
  });

  test('is put into a call without arguments', () => {
    expect(withFileArgument('{"params":{"name":"t"}}', ['a'], '["v"]')).toBe(
      '{"params":{"arguments":{"a":["v"]},"name":"t"}}',
    );
  });

  test.each([
    ['{"a":[{}]}', 'a.b'],
    ['{"a":7}', 'a.b'],
    ['{"a":"x"}', 'a'],
  ])('is not put into %s at %s', (args, path) => {
    expect(withFileArgument(call(args), path.split('.'), '"v"')).toBeUndefined();
  });
});
