import { describe, expect, test } from 'vitest';

import { wantedPath, withOutputPath } from './output-argument.ts';

const call = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;

describe('the output path of a call', () => {
  test.each([
    [
      '{"name":"t","arguments":{"a":1e400,"out":"x.png","b":2}}',
      '{"name":"t","arguments":{"a":1e400,"out":"/p","b":2}}',
    ],
    ['{"name":"t","arguments":{"out": {"deep":["x"]} }}', '{"name":"t","arguments":{"out": "/p" }}'],
    ['{"name":"t","arguments":{"out":null}}', '{"name":"t","arguments":{"out":"/p"}}'],
    ['{"name":"t","arguments":{"a":1}}', '{"name":"t","arguments":{"out":"/p","a":1}}'],
    ['{"name":"t","arguments":{}}', '{"name":"t","arguments":{"out":"/p"}}'],
    ['{"name":"t","arguments":null}', '{"name":"t","arguments":{"out":"/p"}}'],
    ['{"name":"t"}', '{"arguments":{"out":"/p"},"name":"t"}'],
    ['{"name":"t","arguments":{"out":"a","out":"b"}}', '{"name":"t","arguments":{"out":"/p","out":"/p"}}'],
    [
      '{"name":"t","arguments":{"Out":"a","b":{"out":"c"}}}',
      '{"name":"t","arguments":{"out":"/p","Out":"/p","b":{"out":"c"}}}',
    ],
  ])('is set in %s', (before, after) => {
    expect(withOutputPath(call(before), 'out', '/p')).toBe(call(after));
  });

  test('is written as JSON', () => {
    const text = withOutputPath(call('{"arguments":{"a.b":1}}'), 'a.b', '/p/"q"\\') ?? '';
    expect(JSON.parse(text)).toMatchObject({ params: { arguments: { 'a.b': '/p/"q"\\' } } });
  });

  test('has no place in arguments that are no object', () => {
    expect(withOutputPath(call('{"name":"t","arguments":[1]}'), 'out', '/p')).toBeUndefined();
  });

  test.each([
    [{ arguments: { out: ' shots/a.png ' } }, 'shots/a.png'],
    [{ arguments: { out: '  ' } }, undefined],
    [{ arguments: { out: 5 } }, undefined],
    [{ arguments: {} }, undefined],
    [{ arguments: null }, undefined],
    [{}, undefined],
  ])('that the client wants with %j is %j', (params, expected) => {
    expect(wantedPath(params, 'out')).toBe(expected);
    expect(wantedPath(params, 'toString')).toBeUndefined();
  });
});
