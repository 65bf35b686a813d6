/** The suites, in the order in which they are named; all but `check` are projects of vitest.config.ts. */
export const SUITES = ['check', 'unit', 'contract', 'e2e', 'heavy', 'cluster'] as const;
export type Suite = (typeof SUITES)[number];

/** Those of `npm test`: they need nothing that is compiled with Go. */
export const SHORT_SUITES: readonly Suite[] = ['check', 'unit', 'contract', 'e2e'];

/** What became of one test; each step of the suite `check` is one. */
export interface TestResult {
  readonly suite: string;
  /** File and titles, for people. */
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** What went wrong, or why it was skipped. */
  readonly detail: string;
  /** Of a test that passed at its second attempt, alone: what went wrong at the first. */
  readonly firstFailure?: string;
}
