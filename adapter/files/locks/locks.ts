import type { LockGuard } from '../../state/file-records.ts';

/**
 * Excludes writers from each other (`storage.lock_mode`): those of this process, of this host, or of all replicas.
 * What is named `upload/{session}/{file}` or `session/{session}` is a file or all files of a session. Locks are for
 * steps that take a moment: with `file`, different names of two processes may wait for each other by chance. Those of
 * one process never do. Locks are not reentrant.
 */
export interface Locks {
  /**
   * Runs `work` while nobody else who asks for `name` does. Fails with AdapterError `storage_busy` when the lock does
   * not come within 10 s. `held.signal` ends when the lock was lost before the work was done.
   */
  hold<T>(name: string, work: (held: HeldLock) => Promise<T>): Promise<T>;
  /** Those who wait fail with AdapterError `draining`; work that runs goes on and gives its lock back. */
  close(): Promise<void>;
}

export interface HeldLock {
  /** Its reason is an AdapterError. */
  readonly signal: AbortSignal;
  /** Given to a store that shall check that the lock is still held; undefined where locks are none of the store's. */
  readonly guard: LockGuard | undefined;
}

/** How long anybody waits for a lock, in milliseconds. */
export const LOCK_WAIT_MS = 10_000;
