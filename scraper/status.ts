/** What is known of one source on this pod, from memory. */
export interface SourceStatus {
  readonly name: string;
  /** Whether this pod runs it. What other pods know of theirs is not here. */
  readonly owner: boolean;
  readonly running: boolean;
  readonly paused: boolean;
  /** When the last run began. */
  readonly lastRun: Date | undefined;
  /** When a window was last committed, by whichever pod. */
  readonly lastSuccess: Date | undefined;
  /** Everything before it was exported; undefined for sources that have only a present. */
  readonly watermark: Date | undefined;
  /** 0 where it is another pod's; dead-letter windows are not among them. */
  readonly openWindows: number;
  /** Dead-letter windows: given up after too many attempts. */
  readonly deadWindows: number;
  /** Records that the last run emitted which has ended. */
  readonly records: number | undefined;
  /** Of the last run, when it is this pod's, or why there is none; without secrets. */
  readonly lastError: string | undefined;
  readonly nextRun: Date | undefined;
  /** Why nothing can be made of its configuration; it never runs. */
  readonly unusable: string | undefined;
}

/**
 * `first`: at the start of the process; `retry`: windows that have failed before, and those of backfills; `once`:
 * `--once`.
 */
export type RunTrigger = 'schedule' | 'first' | 'retry' | 'admin' | 'once';

/** `gated`: the first run of a source without `runFirstScrape`, which only remembers the time. */
export type RunOutcome = 'running' | 'success' | 'error' | 'gated';

/** One run of a source: what was planned, and all windows that were due. */
export interface RunRecord {
  readonly trigger: RunTrigger;
  readonly started: Date;
  readonly ended: Date | undefined;
  readonly status: RunOutcome;
  /** Windows that were committed. */
  readonly windows: number;
  /** Attempts at windows that have failed. */
  readonly failed: number;
  /** Records that the collector has acknowledged. */
  readonly records: number;
  /** Records that were left out because they had been emitted before. */
  readonly unchanged: number;
  /** The last errors, at most a few; without secrets. */
  readonly errors: readonly string[];
}

export type TriggerResult = 'done' | 'failed' | 'running' | 'paused' | 'elsewhere' | 'unusable';

/** What was asked for cannot be done; the message is for who asked. */
export class Refused extends Error {
  override readonly name = 'Refused';
}
