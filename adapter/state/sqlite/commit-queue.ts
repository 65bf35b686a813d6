import { StoreUnavailable } from '../state-store.ts';

/** One transaction at a time. */
export interface Transactions {
  begin(): void;
  commit(): void;
  /**
   * Undoes everything since `begin`, which may have failed itself, and says what `error` means. `busy`: try again,
   * another process holds the file; `unavailable`: nothing can be done now; `own`: only the step that raised it is at
   * fault. Never throws.
   */
  abort(error: unknown): 'busy' | 'unavailable' | 'own';
}

interface Step {
  /** Does the work and returns what hands the result over, to be called after the commit. */
  readonly work: () => () => void;
  readonly reject: (error: unknown) => void;
}

/** How long steps wait for another process to finish with the file before they fail. */
const BUSY_LIMIT_MS = 2_000;
const BUSY_RETRY_MS = 25;
/** How long a step that nobody waits for may wait for others to share its commit. */
const RELAXED_MS = 2;

/**
 * Runs steps in order, all that came within one turn of the event loop in one transaction, because a commit costs
 * much more than a step. A step that fails does not undo the others: they run again without it.
 */
export class CommitQueue {
  readonly #transactions: Transactions;
  #steps: Step[] = [];
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #busySince: number | undefined;
  #closed = false;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  /** Runs `work` before the next turn of the event loop; resolves with its result after the commit. */
  run<T>(work: () => T): Promise<T> {
    return this.#push(work, () => {
      this.#immediate ??= setImmediate(() => this.#flush());
    });
  }

  /** Like `run`, but `work` may wait some milliseconds for others to share a commit with. */
  runRelaxed<T>(work: () => T): Promise<T> {
    return this.#push(work, () => {
      this.#timer ??= setTimeout(() => this.#flush(), RELAXED_MS);
    });
  }

  /** Runs what is waiting, and refuses everything after. */
  close(): void {
    this.#closed = true;
    this.#flush();
    clearTimeout(this.#timer);
    this.#rejectAll(new StoreUnavailable('the state file stayed locked until the end'));
  }

  #push<T>(work: () => T, schedule: () => void): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the state store is closed'));
    return new Promise((resolve, reject) => {
      this.#steps.push({
        work: () => {
          const result = work();
          return () => resolve(result);
        },
        reject,
      });
      // While the file is busy, the retry takes along what has come in between.
      if (this.#busySince === undefined) schedule();
    });
  }

  #flush(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
    this.#immediate = undefined;
    this.#timer = undefined;
    let hasMore = this.#steps.length > 0;
    while (hasMore) hasMore = this.#runAll();
  }

  /** Runs all waiting steps. True when one failed by itself and the others shall run without it. */
  #runAll(): boolean {
    const batch = this.#steps;
    const results: (() => void)[] = [];
    let running: Step | undefined;
    try {
      this.#transactions.begin();
      for (const step of batch) {
        running = step;
        results.push(step.work());
      }
      running = undefined;
      this.#transactions.commit();
    } catch (error) {
      return this.#recover(running, error, this.#transactions.abort(error));
    }
    this.#busySince = undefined;
    this.#steps = [];
    for (const resolveResult of results) resolveResult();
    return false;
  }

  #recover(running: Step | undefined, error: unknown, kind: 'busy' | 'unavailable' | 'own'): boolean {
    if (kind === 'own' && running !== undefined) {
      this.#steps = this.#steps.filter((step) => step !== running);
      running.reject(error);
      return this.#steps.length > 0;
    }
    const now = performance.now();
    this.#busySince ??= now;
    if (kind === 'busy' && now - this.#busySince < BUSY_LIMIT_MS) {
      if (!this.#closed) this.#timer = setTimeout(() => this.#flush(), BUSY_RETRY_MS);
      return false;
    }
    this.#rejectAll(fileFailed(error));
    return false;
  }

  #rejectAll(error: StoreUnavailable): void {
    const steps = this.#steps;
    this.#steps = [];
    this.#busySince = undefined;
    for (const step of steps) step.reject(error);
  }
}

/** The store's error for what the file's technology raised. */
export function fileFailed(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreUnavailable(`the state file failed: ${reason}`, { cause: error });
}
