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

  test('tells what failed and why something was skipped, and counts last', () => {
    expect(report([skipped, passed, failed])).toBe(
      [
        'FAILED check: types',
        '    a.ts(1,2)',
        '',
        '    wrong',
        '',
        'SKIPPED e2e: b.e2e.ts runs',
        '    not on this system',
        '',
        '1 passed, 1 failed, 1 skipped',
      ].join('\n'),
    );
  });
});
