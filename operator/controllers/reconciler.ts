import type { Key } from '../kubernetes/key.ts';

/** What a reconcile leaves behind. Waiting is a result, not an error. */
export interface Result {
  /** Reconcile the key again after so many milliseconds, also when nothing changes. */
  readonly requeueAfterMs?: number;
}

export const done: Result = {};

/** The earlier of two times, either of which may be none. */
export const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** Trying again cannot help until something changes: it is logged, counted, and not retried. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/**
 * Brings the objects of one key to what its resource says. Never runs twice at a time for the same key. Whatever it throws
 * (but a `TerminalError`) is logged and tried again with backoff. `signal` aborts when leadership is lost or the
 * operator stops.
 */
export type Reconcile = (key: Key, signal: AbortSignal) => Promise<Result>;
