import type { Suite, TestResult } from './result.ts';

/**
 * The end of `npm test`: failures, tests that were skipped or passed late, with their reasons, the suites that were not
 * run, and the line with the counts as the last one.
 */
export function report(results: readonly TestResult[], leftOut: readonly Suite[] = []): string {
  const failed = results.filter(({ state }) => state === 'failed');
  const skipped = results.filter(({ state }) => state === 'skipped');
  const passed = results.length - failed.length - skipped.length;
  const late = results.flatMap(({ suite, name, firstFailure }) =>
    firstFailure === undefined
      ? []
      : [`PASSED ONLY WHEN RUN AGAIN, ALONE ${suite}: ${name}\n${indented(firstFailure)}`],
  );
  const blocks = [
    ...failed.map(({ suite, name, detail }) => `FAILED ${suite}: ${name}\n${indented(detail)}`),
    ...skippedByReason(skipped),
    ...late,
    ...(leftOut.length === 0 ? [] : [`NOT RUN ${leftOut.join(', ')}: npm run test:all runs everything`]),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ];
  return blocks.join('\n\n');
}

/** A machine that lacks something skips whole files for the same reason. */
function skippedByReason(skipped: readonly TestResult[]): string[] {
  return [...Map.groupBy(skipped, ({ detail }) => detail)].map(([reason, tests]) => {
    const names = tests.map(({ suite, name }) => `${suite}: ${name}`);
    return `SKIPPED ${tests.length}: ${reason.trimEnd()}\n${indented(names.join('\n'))}`;
  });
}

const indented = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`.trimEnd())
    .join('\n');
