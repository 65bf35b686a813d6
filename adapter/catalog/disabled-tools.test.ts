import { describe, expect, test } from 'vitest';

import { disabledTools } from './disabled-tools.ts';

describe('disabled tools', () => {
  test.each<[string[], string[], string[]]>([
    [[], [], ['a', '']],
    [['delete_file'], ['delete_file'], ['delete_files', 'xdelete_file', 'Delete_file', '']],
    [['delete_.*'], ['delete_', 'delete_file', 'delete_.*', 'delete_\nall'], ['undelete_file', 'delete']],
    [['get|set'], ['get', 'set', 'get|set'], ['getset', 'gets', 'a get']],
    [['^a$'], ['a', '^a$'], ['ab', 'ba']],
    [['a'], ['a'], ['a\n', '\na', 'a\na']],
    [['(?i)secret'], ['SECRET', 'secret', '(?i)secret'], ['secrets']],
    [['a.c'], ['abc', 'a.c', 'a😀c', 'a\nc'], ['ac']],
    [['a', 'b+'], ['a', 'b', 'bbb', 'b+'], ['ab']],
    [[String.raw`a\.b`], ['a.b', String.raw`a\.b`], ['aXb']],
  ])('%j hide %j and not %j', (entries, hidden, shown) => {
    const disabled = disabledTools(entries);
    expect(disabled.any).toBe(entries.length > 0);
    expect([...hidden, ...shown].filter((name) => disabled.matches(name))).toEqual(hidden);
  });

  test('T11: that are no valid pattern hide the tool of exactly that name, or all', () => {
    // Look-around and back references are no part of RE2.
    const entries = ['a(', '[', '(?=x)y', String.raw`(a)\1`, '*', 'good.*'];
    const disabled = disabledTools(entries);
    expect(entries.filter((entry) => disabled.matches(entry))).toEqual(entries);
    expect(disabledTools(['a(']).any).toBe(true);
    expect([disabled.matches('goods'), disabled.matches('a'), disabled.matches('y')]).toEqual([true, false, false]);
    const strict = disabledTools(entries, true);
    expect([strict.any, strict.matches('goods'), strict.matches('a')]).toEqual([true, true, true]);
    expect(disabledTools(['good.*'], true).matches('a')).toBe(false);
  });

  test('cannot be made to take long', () => {
    const disabled = disabledTools(['(a+)+$', '(a|a)*b', '(.*)*x']);
    // A backtracking engine needs more time for this than there is.
    expect(disabled.matches(`${'a'.repeat(10_000)}!`)).toBe(false);
  });
});
