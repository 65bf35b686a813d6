/** The suites of `npm test`, in the order in which they are named. */
export const SUITES = ['check', 'unit', 'contract', 'e2e', 'cluster'] as const;
export type Suite = (typeof SUITES)[number];

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
