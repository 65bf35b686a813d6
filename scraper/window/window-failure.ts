import { CrashedTwice } from './begun-window.ts';
import { NoMemory } from '../limits/memory-budget.ts';
import { ExportFailure } from '../output/emitter.ts';
import { ShapeMismatch } from '../records/shape-mismatch.ts';
import { ASK_FOR_LESS, RequestFailure, type FailureKind } from '../requests/failure.ts';
import { StateUnavailable } from '../state/ledger.ts';

/** What is said about an attempt at a window that has failed. */
export interface FailureReport {
  readonly kind: FailureKind | 'export' | 'export_refused' | 'state' | 'crash' | 'internal';
  readonly message: string;
  /** Of the API's answer. */
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The collector cannot be reached or has no time: no fault of the window. */
  readonly isCollectors: boolean;
  /** It is not tried again. */
  readonly isFinal: boolean;
  /** Records may have arrived all the same. */
  readonly mayHaveArrived: boolean;
}

const MAX_CHARS = 500;

/** Errors of no kind of ours are faults of this program, whose messages may be about anything. */
export function reportOf(error: unknown): FailureReport {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, MAX_CHARS);
  const report = {
    message,
    status: undefined,
    retryAfterMs: undefined,
    isCollectors: false,
    mayHaveArrived: false,
    isFinal: false,
  };
  if (error instanceof RequestFailure) {
    const { kind, status, retryAfterMs } = error;
    return { ...report, kind, status, retryAfterMs };
  }
  if (error instanceof ExportFailure) {
    const { retryable, retryAfterMs, mayHaveArrived } = error;
    const kind = retryable ? 'export' : 'export_refused';
    return { ...report, kind, retryAfterMs, isCollectors: retryable, mayHaveArrived };
  }
  if (error instanceof NoMemory) return { ...report, kind: 'too_large', message: `${message}; ${ASK_FOR_LESS}` };
  if (error instanceof ShapeMismatch) return { ...report, kind: 'shape' };
  if (error instanceof CrashedTwice) return { ...report, kind: 'crash', isFinal: true };
  if (isTooDeep(error)) return { ...report, kind: 'shape', message: 'a record is nested too deeply' };
  if (error instanceof StateUnavailable) return { ...report, kind: 'state' };
  return { ...report, kind: 'internal' };
}

/** What can be parsed can still be too deep for everything that walks through it. */
const isTooDeep = (error: unknown): boolean => error instanceof RangeError && /call stack/.test(error.message);
