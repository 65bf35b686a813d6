import { describe, expect, test } from 'vitest';

import { readSuggestOptions, SUGGEST_USAGE, SuggestUsageError } from './suggest-options.ts';

describe('mcp-adapter suggest', () => {
  test.each<[string[], object]>([
    [['http://a/mcp'], { action: 'suggest', url: 'http://a/mcp', headers: {} }],
    [
      ['--header', 'Authorization: Bearer a:b', 'http://a/mcp', '--header=X-A:1'],
      { action: 'suggest', url: 'http://a/mcp', headers: { Authorization: 'Bearer a:b', 'X-A': '1' } },
    ],
    [['--help'], { action: 'help' }],
    [['-h', 'a', 'b'], { action: 'help' }],
  ])('%j', (args, expected) => {
    expect(readSuggestOptions(args)).toEqual(expected);
  });

  test.each<[string[], string]>([
    [[], 'the URL of a server is missing'],
    [['http://a', 'http://b'], 'one URL is wanted, not also "http://b"'],
    [['http://a', '--header', 'x'], "--header is written as 'NAME: VALUE'"],
    [['http://a', '--header', ': x'], "--header is written as 'NAME: VALUE'"],
    [['http://a', '--model', 'x'], "Unknown option '--model'"],
  ])('%j is refused', (args, message) => {
    expect(() => readSuggestOptions(args)).toThrow(SuggestUsageError);
    expect(() => readSuggestOptions(args)).toThrow(message);
  });

  test('the help fits into a terminal', () => {
    expect(SUGGEST_USAGE.split('\n').filter((line) => line.length > 120)).toEqual([]);
  });
});
