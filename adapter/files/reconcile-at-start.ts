import { setTimeout as delay } from 'node:timers/promises';

import type { ReconcileResult } from './reconcile-storage.ts';

export interface AtStartOptions {
  readonly mode: string;
  /** How long the replica waits with being ready for files that are looked through; then it goes on beside requests. */
  readonly patienceMs: number;
  /** Told about each failure. */
  readonly onError: (error: unknown) => void;
  readonly onResult: (result: ReconcileResult) => void;
}

const MAX_BACKOFF_MS = 30_000;

/**
 * Reconciles once at the start (specification 2.3), and again and again with growing pauses until it succeeds, because
 * orphans must not be removed before files without a record have had their chance. It never stops the start.
 */
export class ReconciliationAtStart {
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;
  readonly #patience: NodeJS.Timeout;
  #pending = true;
  #settled = false;
  #result: ReconcileResult | undefined;

  constructor(reconcile: (signal: AbortSignal) => Promise<ReconcileResult>, options: AtStartOptions) {
    this.#patience = setTimeout(() => (this.#pending = false), options.patienceMs).unref();
    this.#done = this.#run(reconcile, options);
  }

  /** Whether requests should not come yet, because sessions and files may be about to be found. */
  get pending(): boolean {
    return this.#pending;
  }

  /** Whether it has succeeded, or there was nothing to do. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Undefined until the first attempt has ended. */
  get result(): ReconcileResult | undefined {
    return this.#result;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }

  async #run(reconcile: (signal: AbortSignal) => Promise<ReconcileResult>, options: AtStartOptions): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        this.#result = await reconcile(signal);
        this.#settled = true;
        options.onResult(this.#result);
        break;
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        const detail = error instanceof Error ? error.message : String(error);
        this.#result = { status: 'error', mode: options.mode, reason: 'startup_reconciliation_failed', detail };
        options.onError(error);
        this.#goOn();
        await delay(Math.min(1000 * 2 ** (failures - 1), MAX_BACKOFF_MS), undefined, { signal, ref: false }).catch(
          () => undefined,
        );
      }
    }
    this.#goOn();
  }

  #goOn(): void {
    clearTimeout(this.#patience);
    this.#pending = false;
  }
}
