import type { CallLimits, HeldPlaces, LimitedCall, Refused } from '../call-limits.ts';
import { leavePlaces, renewPlaces, take } from './limit-rules.ts';

/** Where the limits of a store that lives in this process are kept. */
export interface LimitTable {
  /** When a bucket is as good as new, in microseconds; 0 where it is not there. */
  freeAt(key: string): number;
  /** It may go from then on. */
  setFreeAt(key: string, us: number, now: number): void;
  /** Places that are held after `now`. */
  placesTaken(key: string, now: number): number;
  holdsPlace(key: string, id: string): boolean;
  setPlace(key: string, id: string, until: number): void;
  dropPlace(key: string, id: string): void;
}

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
