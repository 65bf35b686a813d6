import type { TestResult } from './result.ts';

/** What became of a file, and how many seconds of a processor it took where that was asked for. */
export interface EndedFile {
  readonly suite: string;
  readonly file: string;
  readonly results: readonly TestResult[];
  readonly cpuSeconds?: number;
}

/** What the process that runs vitest tells `npm test`. */
export type VitestMessage =
  | { readonly kind: 'started'; readonly suite: string; readonly file: string }
  | ({ readonly kind: 'ended' } & EndedFile)
  /** With the failures that belong to no file. */
  | { readonly kind: 'finished'; readonly results: readonly TestResult[] };
