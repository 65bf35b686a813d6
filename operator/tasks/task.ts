import type { Budget } from './budget.ts';

/** Work that is a function of plain data (as JSON has it) alone, so that any thread can do it. */
export interface Task<Input, Output> {
  readonly name: string;
  /** @throws RefusedError when the resource cannot be worked on */
  readonly run: (input: Input, budget: Budget) => Output;
}

/** Whose work it is. */
export interface Subject {
  /** Unique for one generation of one resource. */
  readonly id: string;
  /** Path of what the work is about. */
  readonly path: string;
  /** Of the reconcile, for what is done on the event loop. */
  readonly budget: Budget;
  readonly signal: AbortSignal;
}

/** Does tasks without holding up the event loop. */
export interface TaskRunner {
  /**
   * @throws RefusedError when the resource takes too long, too much memory, or fails; then each further task of this
   * subject, too, for some minutes
   */
  run<Input, Output>(task: Task<Input, Output>, input: Input, subject: Subject): Promise<Output>;
}
