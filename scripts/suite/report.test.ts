import { describe, expect, test } from 'vitest';
import { report } from './report.ts';
import type { TestResult } from './result.ts';

const passed: TestResult = { suite: 'unit', name: 'a.test.ts adds', state: 'passed', detail: '' };
const failed: TestResult = { suite: 'check', name: 'types', state: 'failed', detail: 'a.ts(1,2)\n\nwrong\n' };
const skipped: TestResult = { suite: 'e2e', name: 'b.e2e.ts runs', state: 'skipped', detail: 'not on this system' };

describe('the report of npm test', () => {
  test('is one line when all is well', () => {
    expect(report([passed, passed])).toBe('2 passed, 0 failed, 0 skipped');
  });

  test('tells what had failed at first', () => {
    expect(report([{ ...passed, firstFailure: 'late' }])).toBe(
      ['PASSED ONLY WHEN RUN AGAIN, ALONE unit: a.test.ts adds', '    late', '', '1 passed, 0 failed, 0 skipped'].join(
        '\n',
      ),
    );
  });

  test('tells a reason once for all that were skipped for it, and which suites were not run', () => {
    expect(report([skipped, passed, { ...skipped, name: 'c.e2e.ts runs' }], ['heavy', 'cluster'])).toBe(
      [
        'SKIPPED 2: not on this system',
        '    e2e: b.e2e.ts runs',
        '    e2e: c.e2e.ts runs',
        '',
        'NOT RUN heavy, cluster: npm run test:all runs everything',
        '',
        '1 passed, 0 failed, 2 skipped',
      ].join('\n'),
    );
  });

  test('tells what failed and why something was skipped, and counts last', () => {
    expect(report([skipped, passed, failed])).toBe(
      [
        'FAILED check: types',
        '    a.ts(1,2)',
        '',
        '    wrong',
        '',
        'SKIPPED 1: not on this system',
        '    e2e: b.e2e.ts runs',
        '',
        '1 passed, 1 failed, 1 skipped',
      ].join('\n'),
    );
  });
});
