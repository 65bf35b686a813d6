import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { QUIET } from './quiet.ts';

/**
 * The order of files that vitest chooses, but those that need a quiet machine come last: by then the other suites, which
 * run beside this one, have ended. The rollouts come after everything else.
 */
export class QuietLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isQuiet = ({ moduleId }: TestSpecification): boolean => QUIET.test(moduleId);
    const quiet = sorted.filter(isQuiet).toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
    return [...sorted.filter((file) => !isQuiet(file)), ...quiet];
  }
}
