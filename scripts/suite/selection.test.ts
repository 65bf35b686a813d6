import { describe, expect, test } from 'vitest';
import { readSelection } from './selection.ts';

describe('the command line of npm test', () => {
  test('runs every suite without arguments', () => {
    expect(readSelection([])).toEqual({ kind: 'run', suites: ['check', 'unit', 'contract', 'e2e', 'cluster'] });
  });

  test('runs the named suites once each, in their own order', () => {
    expect(readSelection(['e2e', 'unit', 'e2e'])).toEqual({ kind: 'run', suites: ['unit', 'e2e'] });
  });

  test('names the suites when one is unknown', () => {
    expect(readSelection(['unit', 'integration'])).toEqual({
      kind: 'misuse',
      reason: 'there is no suite "integration"; there are check, unit, contract, e2e, cluster',
    });
  });

  test.for([['--help'], ['-h', 'nonsense']])('shows the help for %j', (argv) => {
    expect(readSelection(argv)).toEqual({ kind: 'help' });
  });

  test('refuses unknown options', () => {
    expect(readSelection(['--watch'])).toMatchObject({ kind: 'misuse', reason: expect.stringContaining('--watch') });
  });
});
