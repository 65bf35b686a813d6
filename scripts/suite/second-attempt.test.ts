import { describe, expect, test } from 'vitest';
import type { TestResult } from './result.ts';
import { type FileResult, secondAttempt, withSecondAttempt } from './second-attempt.ts';

const result = (name: string, state: TestResult['state'], detail = ''): TestResult => ({
  suite: 'e2e',
  name,
  state,
  detail,
});
const file = (name: string, ...results: TestResult[]): FileResult => ({
  suite: 'e2e',
  file: name,
  results,
  seconds: 1,
});
const NONE = /^$/;

describe('a second attempt', () => {
  test('is for files with failures only, and not for those that ran alone', () => {
    const files = [
      file('a', result('1', 'passed')),
      file('b', result('2', 'failed')),
      file('c', result('3', 'failed')),
    ];
    expect(secondAttempt(files, /^c$/)).toEqual([{ suite: 'e2e', files: ['b'] }]);
    expect(secondAttempt(files, /^[bc]$/)).toEqual([]);
    expect(secondAttempt(files.slice(0, 1), NONE)).toEqual([]);
  });

  test('runs each file by itself, and those of the cluster in one start of it', () => {
    const failed = result('1', 'failed');
    const files = [
      { ...file('k1', failed), suite: 'cluster' },
      file('a', failed),
      { ...file('k2', failed), suite: 'cluster' },
      file('b', failed),
    ];
    expect(secondAttempt(files, NONE)).toEqual([
      { suite: 'e2e', files: ['a'] },
      { suite: 'e2e', files: ['b'] },
      { suite: 'cluster', files: ['k1', 'k2'] },
    ]);
  });

  test('is not made when much has failed', () => {
    const many = Array.from({ length: 7 }, (_, index) => file(`f${index}`, result('x', 'failed')));
    expect(secondAttempt(many, NONE)).toEqual([]);
    expect(secondAttempt(many.slice(1), NONE)).toHaveLength(6);
  });

  test('counts instead of the first, and tells what had failed before', () => {
    const first = [file('a', result('1', 'passed')), file('b', result('2', 'failed', 'late'), result('3', 'passed'))];
    const passed = [file('b', result('2', 'passed'), result('3', 'passed'))];
    expect(withSecondAttempt(first, passed)).toEqual([
      result('1', 'passed'),
      { ...result('2', 'passed'), firstFailure: 'late' },
      result('3', 'passed'),
    ]);
    const failed = [file('b', result('2', 'passed'), result('3', 'failed', 'wrong'))];
    expect(withSecondAttempt(first, failed).at(-1)).toEqual(result('3', 'failed', 'wrong'));
    expect(withSecondAttempt(first, [])).toEqual(first.flatMap(({ results }) => results));
  });
});
