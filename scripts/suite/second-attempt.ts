import type { Suite, TestResult } from './result.ts';

/** More failed files than this are no matter of a busy machine. */
const MOST_FILES = 6;

/** What a file of tests came to when its suite ran beside the others. */
export interface FileResult {
  readonly suite: string;
  readonly file: string;
  readonly results: readonly TestResult[];
}

export interface SecondAttempt {
  readonly suites: readonly Suite[];
  readonly files: readonly string[];
}

/**
 * The files to run again, alone: many tests watch the clock, which says little while all suites share two cores. Tests of
 * `alone` had the machine to themselves, so that their failures stand. Undefined: none, or too many.
 */
export function secondAttempt(files: readonly FileResult[], alone: RegExp): SecondAttempt | undefined {
  const failed = files.filter(({ results }) => results.some(({ state }) => state === 'failed'));
  if (failed.length > MOST_FILES) return undefined;
  const again = failed.filter(({ file }) => !alone.test(file));
  if (again.length === 0) return undefined;
  return {
    suites: [...new Set(again.map(({ suite }) => suite as Suite))],
    files: again.map(({ file }) => file),
  };
}

/** The results of all files, those of the second attempt in the place of the first, whose failures they name. */
export function withSecondAttempt(first: readonly FileResult[], second: readonly FileResult[]): TestResult[] {
  return first.flatMap(({ file, results }) => {
    const again = second.find((other) => other.file === file)?.results;
    if (again === undefined) return results;
    const before = new Map(
      results.filter(({ state }) => state === 'failed').map(({ name, detail }) => [name, detail] as const),
    );
    return again.map((result) => {
      const detail = before.get(result.name);
      return result.state !== 'passed' || detail === undefined ? result : { ...result, firstFailure: detail };
    });
  });
}
