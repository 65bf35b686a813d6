import type { TestResult } from './result.ts';

/** What the process that runs vitest tells `npm test`. */
export type VitestMessage =
  | { readonly kind: 'started'; readonly suite: string; readonly file: string }
  | { readonly kind: 'ended'; readonly suite: string; readonly file: string; readonly results: readonly TestResult[] }
  /** With the failures that belong to no file. */
  | { readonly kind: 'finished'; readonly results: readonly TestResult[] };
