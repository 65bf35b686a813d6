import type { SandboxLimits } from './sandbox-limits.ts';

/** Why a run ended without a value. */
export type SandboxFailure =
  | 'syntax'
  | 'error'
  | 'compute_time'
  | 'total_time'
  | 'memory'
  | 'stack'
  | 'calls'
  | 'output'
  | 'code_size'
  | 'aborted'
  | 'busy';

/** How the code ended, as the worker sees it. `value` is JSON text. */
export type CodeEnd =
  | { readonly kind: 'returned'; readonly value: string | undefined }
  | { readonly kind: 'failed'; readonly reason: SandboxFailure; readonly message: string };

/** What a worker starts with. */
export interface WorkerStart {
  /** A WebAssembly.Module: compiled once, instantiated by each worker. */
  readonly engine: object;
  readonly limits: SandboxLimits;
}

export type ToWorker =
  | { readonly kind: 'run'; readonly code: string }
  /** The answer to a call: JSON text of its value, or of message, code and data of the error that it throws. */
  | { readonly kind: 'settle'; readonly id: number; readonly ok: boolean; readonly text: string };

/** All strings are bounded by the limits before they are sent. */
export type FromWorker =
  | { readonly kind: 'started' }
  | { readonly kind: 'console'; readonly text: string }
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly args: string }
  /** The code does nothing until a call is answered; so many answers have arrived by now. */
  | { readonly kind: 'waiting'; readonly settled: number }
  | { readonly kind: 'end'; readonly end: CodeEnd };
