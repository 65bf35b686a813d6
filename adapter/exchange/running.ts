import type { ErrorCode } from '../errors.ts';
import { SwapRemoveSet, type Slotted } from './swap-remove-set.ts';
import { InProgress } from './in-progress.ts';

/** An exchange that can be ended from outside. */
export interface Running extends Slotted {
  readonly id: string;
  readonly serverId: string;
  /** Undefined in the sessionless revision. */
  readonly sessionId: string | undefined;
  /** JSON texts of the ids of its requests; empty for a GET stream. */
  readonly idTexts: readonly string[];
  readonly isGet: boolean;
  finish(code: ErrorCode): void;
  /** The client has cancelled one of its requests, which may be answered for `graceMs` all the same. */
  cancel(idText: string, graceMs: number): void;
  endStream(): void;
  /** Puts a message of the adapter's own, as JSON text, into its event stream. False: it cannot be sent there. */
  notify(text: string): boolean;
}

/** The exchanges that run on this replica. What other replicas ask for is done to them. */
export class RunningExchanges {
  readonly #all = new SwapRemoveSet<Running>();
  readonly #posts = new InProgress();

  /**
   * A POST that becomes an exchange only when its session is found. It counts as being answered until `leave`, so that
   * a process that stops does not overlook it.
   */
  enter(): void {
    this.#posts.enter();
  }

  leave(): void {
    this.#posts.leave();
  }

  add(running: Running): void {
    if (!running.isGet) this.#posts.enter();
    this.#all.add(running);
  }

  delete(running: Running): void {
    if (!this.#all.delete(running)) return;
    if (!running.isGet) this.leave();
  }

  /** Those of one session. A search through all: it is needed once in a while, adding happens with every request. */
  of(serverId: string, sessionId: string): Running[] {
    return this.#all.values().filter((one) => one.sessionId === sessionId && one.serverId === serverId);
  }

  all(): Running[] {
    return this.#all.values();
  }

  /** How many POSTs are being answered. */
  get posts(): number {
    return this.#posts.count;
  }

  /** Resolves when no POST is being answered, or when the signal ends the wait. */
  idle(signal: AbortSignal): Promise<void> {
    return this.#posts.idle(signal);
  }
}
