import type { CallLimits, HeldPlaces, LimitedCall, Refused } from '../call-limits.ts';
import { leavePlaces, renewPlaces, take } from './limit-rules.ts';
import type { LimitTable } from './limit-table.ts';

/** The limits of a store that lives in this process. */
export class TableCallLimits implements CallLimits {
  readonly #step: <T>(work: (limits: LimitTable) => T) => Promise<T>;

  /** `step` runs its argument as one atomic step, and resolves once it is done for good. */
  constructor(step: <T>(work: (limits: LimitTable) => T) => Promise<T>) {
    this.#step = step;
  }

  take(call: LimitedCall, now: number): Promise<Refused | undefined> {
    return this.#step((limits) => take(limits, call, now));
  }

  renew(calls: readonly HeldPlaces[], until: number): Promise<void> {
    return this.#step((limits) => {
      for (const held of calls) renewPlaces(limits, held, until);
    });
  }

  leave(held: HeldPlaces): Promise<void> {
    return this.#step((limits) => leavePlaces(limits, held));
  }
}
