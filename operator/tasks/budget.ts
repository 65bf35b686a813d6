import type { Problem } from '../../crds/config/load/problem.ts';
import { RefusedError, problemOf } from './refused-error.ts';

/** What one resource may take of the operator's computing time in one reconcile, in milliseconds. */
export const RESOURCE_MS = 50;
/** The same for programs that look at files of whoever runs them. */
const OWN_FILES_MS = 5000;

/** A resource whose check or build takes too long. */
export class BudgetError extends RefusedError {
  override readonly name = 'BudgetError';

  constructor(limitMs: number, path: string) {
    super(
      path,
      `takes the operator more than ${limitMs} ms of computing time, which is the most for one resource; patterns, references ` +
        'and entries must become fewer or shorter, or move to another resource',
    );
  }
}

/**
 * One author's resource must not hold up everybody's, so what is done for it is counted, in computing time of this
 * thread: on a busy machine it is the same. It is looked at before each step that may be long.
 */
export class Budget {
  readonly #limitMs: number;
  readonly #now: () => number;
  #spentMs = 0;
  #since: number | undefined;

  constructor(limitMs: number, now: () => number = threadMs) {
    this.#limitMs = limitMs;
    this.#now = now;
  }

  /** Does work that counts. What is waited for between two such calls does not. */
  during<T>(work: () => T): T {
    this.#since = this.#now();
    try {
      return work();
    } finally {
      this.#spentMs += this.#now() - this.#since;
      this.#since = undefined;
    }
  }

  /** Before a step. @param path of the field that it is about @throws BudgetError when nothing is left */
  step(path: string): void {
    const current = this.#since === undefined ? 0 : this.#now() - this.#since;
    if (this.#spentMs + current > this.#limitMs) throw new BudgetError(this.#limitMs, path);
  }

  /** Forgets what was done: a program that has just started also compiles itself. */
  anew(): this {
    this.#spentMs = 0;
    return this;
  }

  /** Counts what was done earlier for the same, and is remembered. */
  charge(ms: number): void {
    this.#spentMs += ms;
  }
}

export const ownFilesBudget = (): Budget => new Budget(OWN_FILES_MS);

/**
 * The work with a budget; `refused` when it fails, or when the budget is not enough twice: the first time, a program that
 * has just started also compiles itself.
 * @param path of what the work is about
 */
export function withinBudget<T>(
  path: string,
  work: (budget: Budget) => T,
  refused: (problem: Problem) => T,
  newBudget: () => Budget,
): T {
  const attempt = (): T => {
    const budget = newBudget();
    return budget.during(() => work(budget));
  };
  try {
    try {
      return attempt();
    } catch (error) {
      if (!(error instanceof BudgetError)) throw error;
      return attempt();
    }
  } catch (error) {
    return refused(problemOf(error, path));
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
