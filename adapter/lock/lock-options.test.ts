import { describe, expect, test } from 'vitest';

import { LOCK_USAGE, LockUsageError, readLockOptions } from './lock-options.ts';

const DEFAULTS = {
  config: undefined,
  lock: undefined,
  servers: [],
  format: 'text',
  output: undefined,
  force: false,
  dryRun: false,
  adapter: undefined,
  names: [],
};

describe('mcp-adapter lock', () => {
  test.each<[string[], object]>([
    [['create'], { ...DEFAULTS, action: 'create' }],
    [
      ['create', '--config', 'c', '--output', 'o', '--force', '--server=a', '--server', 'b', '--adapter', 'tools/x'],
      {
        ...DEFAULTS,
        action: 'create',
        config: 'c',
        output: 'o',
        force: true,
        servers: ['a', 'b'],
        adapter: { name: 'x', namespace: 'tools' },
      },
    ],
    [['create', '--adapter', 'x'], { ...DEFAULTS, action: 'create', adapter: { name: 'x' } }],
    [['diff', '-o', 'sarif', '--lock', 'l'], { ...DEFAULTS, action: 'diff', format: 'sarif', lock: 'l' }],
    [
      ['approve', 'a/search', '--dry-run', 'instructions'],
      { ...DEFAULTS, action: 'approve', dryRun: true, names: ['a/search', 'instructions'] },
    ],
    [['--help'], { action: 'help' }],
    [['diff', '-h'], { action: 'help' }],
  ])('%j', (args, expected) => {
    expect(readLockOptions(args)).toEqual(expected);
  });

  test.each<[string[], string]>([
    [[], 'one of create, diff, approve is wanted, not ""'],
    [['accept'], 'one of create, diff, approve is wanted, not "accept"'],
    [['diff', 'search'], 'diff takes no names; --server ID asks one server only'],
    [['diff', '-o', 'yaml'], '--format must be one of text, json, sarif, not "yaml"'],
    [['create', '--lock', 'l'], '--lock goes with diff and approve only'],
    [['create', '-o', 'json'], '--format goes with diff only'],
    [['approve', '--output', 'o'], '--output goes with create and diff only'],
    [['approve', '--force'], '--force goes with create only'],
    [['diff', '--dry-run'], '--dry-run goes with approve only'],
    [['diff', '--adapter', 'a'], '--adapter goes with create only'],
    [['create', '--adapter', 'a/b/c'], '--adapter must be NAME or NAMESPACE/NAME, not "a/b/c"'],
    [['create', '--adapter', '/b'], '--adapter must be NAME or NAMESPACE/NAME, not "/b"'],
    [['create', '--write'], "Unknown option '--write'"],
  ])('%j is refused', (args, message) => {
    expect(() => readLockOptions(args)).toThrow(LockUsageError);
    expect(() => readLockOptions(args)).toThrow(message);
  });

  test('the help fits into a terminal', () => {
    expect(LOCK_USAGE.split('\n').filter((line) => line.length > 120)).toEqual([]);
  });
});
