import type { TestResult } from './result.ts';

/** The end of `npm test`: failures, tests that passed late or were skipped, with their reasons, and the line with the counts as the last one. */
export function report(results: readonly TestResult[]): string {
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
    ...late,
    ...skipped.map(({ suite, name, detail }) => `SKIPPED ${suite}: ${name}\n${indented(detail)}`),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ];
  return blocks.join('\n\n');
}

const indented = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`.trimEnd())
    .join('\n');
