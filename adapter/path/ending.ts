import { AdapterError, type ErrorCode } from '../errors.ts';
import type { ResponseHead } from '../exchange/upstream.ts';

/**
 * How an operation has ended: `ok`, `cached` and `answered` by the adapter itself, an error code of ours, or what has become
 * of the client or the upstream.
 */
export type Outcome = 'ok' | 'cached' | 'answered' | 'timeout' | 'client_closed' | 'upstream_broke' | ErrorCode;

/** The end of an operation; each has exactly one. */
export interface Ending {
  readonly outcome: Outcome;
  /** Why there is no answer to the requests that are unanswered yet. */
  readonly error?: unknown;
  /** Stands for the status of the error. */
  readonly status?: number;
  /** What those requests get instead of an error: JSON text of one message, or of an array of them. */
  readonly text?: string;
  /** The upstream's head that said so, and that nobody has seen. */
  readonly head?: ResponseHead;
  /** What the client is told beside the error, where its answer has not begun. */
  readonly headers?: Readonly<Record<string, string>>;
  /** It ends in the middle of a message that must not become whole. */
  readonly breaksOff?: boolean;
  /** The call runs on, and its response comes on another stream that the client can take up. */
  readonly goesOn?: boolean;
}

export const OK: Ending = { outcome: 'ok' };
export const ANSWERED: Ending = { outcome: 'answered' };

/** The operation cannot be done. */
export function failed(error: unknown, more?: Pick<Ending, 'status' | 'head' | 'headers' | 'breaksOff'>): Ending {
  return { outcome: error instanceof AdapterError ? error.code : 'internal', error, ...more };
}
