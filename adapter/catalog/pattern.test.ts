import { expect, test, vi } from 'vitest';
import { RE2JS } from 're2js';

import { patternOf } from './pattern.ts';

const faultOf = (source: string): string => {
  const pattern = patternOf(source, true);
  return 'fault' in pattern ? pattern.fault : expect.fail(`${source} is valid`);
};

test('T12: a pattern is compiled once for each text, whether it is valid or not', () => {
  const compile = vi.spyOn(RE2JS, 'compile');
  for (const source of ['once_.*', 'once_(']) {
    for (let i = 0; i < 3; i++) patternOf(source, true);
  }
  expect(compile).toHaveBeenCalledTimes(2);
  compile.mockRestore();
});

test('T11: `.` matches line feeds where it is to', () => {
  const isMatch = (dotAll: boolean): boolean => {
    const pattern = patternOf('delete_.*', dotAll);
    return 're2' in pattern && pattern.re2.matches('delete_\nall');
  };
  expect([true, false].map(isMatch)).toEqual([true, false]);
});

test.each(['safe_', 'a', 'read-only', '_'])(
  'T11: for everything but a prefix, the fault shows a pattern that says the same: %s',
  (prefix) => {
    const fault = faultOf(`(?!${prefix}).*`);
    expect(fault).toContain('RE2 has neither look-ahead nor look-behind');
    const shown = /is "(?<shown>.*)"$/.exec(fault)?.groups?.['shown'] ?? expect.fail(fault);
    const pattern = patternOf(shown, true);
    const python = new RegExp(`^(?:(?!${prefix}).*)$`, 's');
    const names = [
      '',
      'x',
      'safe',
      'saf',
      'safe_',
      'safe_x',
      'sXfe_',
      'a',
      'ab',
      'ba',
      'read-only',
      'read-onlz',
      'read_only',
    ];
    for (const name of [...names, '_', '__', 'x_', `${prefix}\n`, `x\n${prefix}`]) {
      expect('re2' in pattern && pattern.re2.matches(name), JSON.stringify(name)).toBe(python.test(name));
    }
  },
);

test('T11: a fault says what is wrong, and how to say it otherwise where that is known', () => {
  expect(faultOf('a(')).toMatch(/^is no valid regular expression \(RE2\): .*missing/);
  expect(faultOf('a(')).not.toContain('RE2 has');
  expect(faultOf('x(?=y)z')).toContain('write out what is to match');
  expect(faultOf(String.raw`(a)\1`)).toContain('RE2 has no references to groups');
});
