import { setTimeout as delay } from 'node:timers/promises';

import type { ReconcileResult } from './reconcile-storage.ts';

export interface AtStartOptions {
  readonly mode: string;
  /** Whether what is to be done is only known once the store has been asked, and changes when clients open sessions. */
  readonly mustDecide: boolean;
  /** How long the replica waits with being ready for files that are looked through; then it goes on beside requests. */
  readonly patienceMs: number;
  /** Told about each failure. */
  readonly onError: (error: unknown) => void;
  readonly onResult: (result: ReconcileResult) => void;
}

/** Calls `onDecided` when sessions that clients open from then on make no difference. */
type Reconcile = (signal: AbortSignal, onDecided: () => void) => Promise<ReconcileResult>;

const MAX_BACKOFF_MS = 30_000;

/**
 * Reconciles once at the start (specification 2.3), and again and again with growing pauses until it succeeds, because
 * orphans must not be removed before files without a record have had their chance. It never stops the start.
 */
export class ReconciliationAtStart {
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;
  readonly #patience: NodeJS.Timeout;
  readonly #attempted = Promise.withResolvers<void>();
  #pending = true;
  #decided: boolean;
  #settled = false;
  #result: ReconcileResult | undefined;

  constructor(reconcile: Reconcile, options: AtStartOptions) {
    this.#decided = !options.mustDecide;
    if (this.#decided) this.#attempted.resolve();
    this.#patience = setTimeout(() => (this.#pending = false), options.patienceMs).unref();
    this.#done = this.#run(reconcile, options);
  }

  /** Whether requests should not come yet, because sessions and files may be about to be found. */
  get pending(): boolean {
    return this.#pending;
  }

  /** Whether sessions that clients open now cannot keep it from finding files any more. */
  get decided(): boolean {
    return this.#decided;
  }

  /** Resolves when it is decided, or when the first attempt has failed before that. */
  get attempted(): Promise<void> {
    return this.#attempted.promise;
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

  async #run(reconcile: Reconcile, options: AtStartOptions): Promise<void> {
    const { signal } = this.#stopping;
    const onDecided = (): void => {
      this.#decided = true;
      this.#attempted.resolve();
    };
    for (let failures = 0; !signal.aborted;) {
      try {
        this.#result = await reconcile(signal, onDecided);
        onDecided();
        this.#settled = true;
        options.onResult(this.#result);
        break;
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        const detail = error instanceof Error ? error.message : String(error);
        this.#result = { status: 'error', mode: options.mode, reason: 'startup_reconciliation_failed', detail };
        options.onError(error);
        this.#attempted.resolve();
        if (this.#decided) this.#goOn();
        await delay(Math.min(1000 * 2 ** (failures - 1), MAX_BACKOFF_MS), undefined, { signal, ref: false }).catch(
          () => undefined,
        );
      }
    }
    this.#attempted.resolve();
    this.#goOn();
  }

  #goOn(): void {
    clearTimeout(this.#patience);
    this.#pending = false;
  }
}
