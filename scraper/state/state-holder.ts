import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../times/backoff.ts';
import type { Logger } from '../logger.ts';
import type { Assignment, AssignmentOptions } from './assignment.ts';
import { type Fence, type Ledger, StateUnavailable } from './ledger.ts';
import type { State } from './open-state.ts';
import type { RequestCounter } from '../requests/rate-limit.ts';

export interface StateHolderOptions {
  /** Raises StateUnavailable when it cannot be used now. */
  readonly openState: () => Promise<State>;
  readonly logger: Logger;
  /** Milliseconds of a clock that only runs forwards. */
  readonly clock: () => number;
  readonly random: () => number;
}

export interface Holders extends AssignmentOptions {
  readonly opened: (ledger: Ledger) => void;
}

const RETRY = { initialMs: 250, maxMs: 5_000 };
/** The state is asked for something at least this often where it is shared. */
const TROUBLE_MS = 10_000;

/** The state and this pod's sources, which may come later than the program: opening is tried until it works. */
export class StateHolder {
  readonly #options: StateHolderOptions;
  readonly #stopped = new AbortController();
  #state: State | undefined;
  #assignment: Assignment | undefined;
  #isAssigned = false;
  #hasFailed = false;
  #troubleAt = Number.NEGATIVE_INFINITY;
  #opening: Promise<void> = Promise.resolve();

  constructor(options: StateHolderOptions) {
    this.#options = options;
  }

  /** Goes on trying in the background; resolves when this pod has its sources, or when it is stopped. */
  open(holders: Holders): Promise<void> {
    this.#opening = this.#open(holders);
    return this.#opening;
  }

  notReady(): 'starting' | 'state_store_unavailable' | undefined {
    const isInTrouble = this.#options.clock() - this.#troubleAt < TROUBLE_MS;
    if (this.#state === undefined || !this.#isAssigned) return this.#hasFailed ? 'state_store_unavailable' : 'starting';
    return isInTrouble ? 'state_store_unavailable' : undefined;
  }

  /** @throws StateUnavailable while it is not open */
  get ledger(): Ledger {
    if (this.#state === undefined) throw new StateUnavailable('the state is not open yet');
    return this.#state.ledger;
  }

  get requestCounter(): RequestCounter | undefined {
    return this.#state?.requestCounter;
  }

  fence(source: string): Fence | undefined {
    return this.#assignment?.fence(source);
  }

  pods(): readonly string[] {
    return this.#assignment?.pods() ?? [];
  }

  /** The state could not be used. */
  noteTrouble(): void {
    this.#troubleAt = this.#options.clock();
  }

  /** After a change of the configuration. */
  refresh(): void {
    this.#assignment?.refresh().catch((error: unknown) => this.onError(error));
  }

  /** What goes wrong in the background. */
  readonly onError = (error: unknown): void => {
    this.noteTrouble();
    const message = error instanceof Error ? error.message : String(error);
    this.#options.logger.warn({ error: message }, 'sources cannot be shared out now');
  };

  async stopOpening(): Promise<void> {
    this.#stopped.abort();
    await this.#opening;
  }

  /** Gives the sources back; nothing may run any more. */
  async close(): Promise<void> {
    await this.#assignment?.stop();
    await this.#state?.close();
  }

  async #open(holders: Holders): Promise<void> {
    const { openState } = this.#options;
    const state = await this.#untilItWorks(openState);
    if (state === undefined) return;
    this.#state = state;
    this.#assignment = state.assignment({
      ...holders,
      gained: (source) => {
        this.#isAssigned = true;
        holders.gained(source);
      },
    });
    holders.opened(state.ledger);
    try {
      await this.#assignment.start();
    } catch (error) {
      // It goes on trying by itself.
      this.#hasFailed = true;
      this.onError(error);
      await this.#untilItWorks(async () => this.#assignment?.refresh());
    }
    this.#isAssigned = true;
  }

  /** Undefined: stopped. */
  async #untilItWorks<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { logger, random } = this.#options;
    const { signal } = this.#stopped;
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        return await work();
      } catch (error) {
        this.#hasFailed = true;
        const wait = backoff(failures, RETRY.initialMs, RETRY.maxMs, 0.5 + random() / 2);
        const known = error instanceof StateUnavailable;
        const message = error instanceof Error ? error.message : String(error);
        logger.error(
          { error: message, ...(known ? {} : { err: error }), retry_ms: wait },
          'the state cannot be opened',
        );
        await delay(wait, undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }
}
