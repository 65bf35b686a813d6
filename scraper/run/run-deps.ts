import type { RetryBuffer } from '../window/retry-buffer.ts';
import type { Logger } from '../logger.ts';
import type { Semaphore } from '../limits/semaphore.ts';
import type { MemoryBudget } from '../limits/memory-budget.ts';
import type { Emitter } from '../output/emitter.ts';
import type { PreparedSource } from '../window/prepared-source.ts';
import type { FetchDependencies } from '../requests/fetch-window.ts';
import type { RunObserver } from './run-observer.ts';
import type { Fence, Ledger } from '../state/ledger.ts';

/** What the runs of a source need. */
export interface RunDeps {
  readonly ledger: Ledger;
  readonly emitter: Emitter;
  readonly retryBuffer: RetryBuffer;
  readonly memory: MemoryBudget;
  /** Of all windows that were read when the process crashed. */
  readonly suspects: Semaphore;
  /** With the limits of the configuration as it is now. */
  readonly fetchOf: (prepared: PreparedSource) => FetchDependencies;
  /** Proof that the source is this pod's; undefined: it is not. */
  readonly fence: () => Fence | undefined;
  /** Milliseconds between two scrapes. */
  readonly period: (now: Date) => number;
  readonly observer: RunObserver;
  readonly logger: Logger;
  readonly now: () => Date;
  readonly random: () => number;
}
