import { describe, expect, test } from 'vitest';
import { readSelection } from './selection.ts';

const ALL = ['check', 'unit', 'contract', 'e2e', 'heavy', 'cluster'];

describe('the command line of npm test', () => {
  test('runs what needs no Go without arguments', () => {
    const suites = ['check', 'unit', 'contract', 'e2e'];
    expect(readSelection([], {})).toEqual({ kind: 'run', suites, profile: false });
    expect(readSelection(['--profile'], { CI: '' })).toEqual({ kind: 'run', suites, profile: true });
  });

  test('runs every suite with --all, and on a build server', () => {
    expect(readSelection(['--all'], {})).toMatchObject({ suites: ALL });
    expect(readSelection([], { CI: 'true' })).toMatchObject({ suites: ALL });
    expect(readSelection(['--all', 'unit'], {})).toMatchObject({ kind: 'misuse' });
  });

  test('runs the named suites once each, in their own order', () => {
    expect(readSelection(['cluster', 'unit', 'cluster'], { CI: 'true' })).toMatchObject({
      suites: ['unit', 'cluster'],
    });
  });

  test('names the suites when one is unknown', () => {
    expect(readSelection(['unit', 'integration'], {})).toEqual({
      kind: 'misuse',
      reason: 'there is no suite "integration"; there are check, unit, contract, e2e, heavy, cluster',
    });
  });

  test.for([['--help'], ['-h', 'nonsense']])('shows the help for %j', (argv) => {
    expect(readSelection(argv, {})).toEqual({ kind: 'help' });
  });

  test('refuses unknown options', () => {
    expect(readSelection(['--watch'], {})).toMatchObject({
      kind: 'misuse',
      reason: expect.stringContaining('--watch'),
    });
  });
});
