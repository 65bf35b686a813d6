import type { Problem } from '../../crds/config/load/problem.ts';

/** A resource that cannot be worked on; `problem` says why to its author. */
export class RefusedError extends Error {
  override readonly name: string = 'RefusedError';
  readonly problem: Problem;

  constructor(path: string, message: string) {
    super(`${path} ${message}`);
    this.problem = { path, message };
  }
}

/**
 * What an error says to the author of the resource that it was thrown for. The work is a function of the resource alone,
 * so it would fail again with each attempt: a text that becomes longer than texts can be, or a stack that is used up.
 */
export const problemOf = (error: unknown, path: string): Problem =>
  error instanceof RefusedError
    ? error.problem
    : { path, message: `cannot be worked on: ${error instanceof Error ? error.message : String(error)}` };
