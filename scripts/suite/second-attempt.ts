import type { Suite, TestResult } from './result.ts';

/** More failed files than this are no matter of a busy machine. */
const MOST_FILES = 6;

/** What a file of tests came to when its suite ran beside the others. */
export interface FileResult {
  readonly suite: string;
  readonly file: string;
  readonly results: readonly TestResult[];
  readonly seconds: number;
  /** Of a processor; undefined unless it was asked for. */
  readonly cpuSeconds?: number;
}

/** Files of one suite that run at the same time as nothing else. */
export interface LoneRun {
  readonly suite: Suite;
  readonly files: readonly string[];
}

/**
 * The files to run again, one after the other: many tests watch the clock, which says little while all suites share two
 * cores. Those of the cluster, which run in turn anyway, share its one start. Tests of `alone` had the machine to
 * themselves, so that their failures stand. Empty: none, or too many.
 */
export function secondAttempt(files: readonly FileResult[], alone: RegExp): LoneRun[] {
  const failed = files.filter(({ results }) => results.some(({ state }) => state === 'failed'));
  if (failed.length > MOST_FILES) return [];
  const again = failed.filter(({ file }) => !alone.test(file));
  const runs = again
    .filter(({ suite }) => suite !== 'cluster')
    .map(({ suite, file }) => ({ suite: suite as Suite, files: [file] }));
  const ofCluster = again.filter(({ suite }) => suite === 'cluster').map(({ file }) => file);
  return ofCluster.length === 0 ? runs : [...runs, { suite: 'cluster', files: ofCluster }];
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
