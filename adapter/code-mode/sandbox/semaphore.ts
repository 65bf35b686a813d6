export interface PlaceLimits {
  readonly places: number;
  /** Of the places, one owner has so many at most; those without an owner do not count. */
  readonly ofOwner: number;
  /** Waiting at a time. */
  readonly waiting: number;
  readonly waitingOfOwner: number;
  /** Milliseconds. */
  readonly waitMs: number;
}

interface Waiter {
  readonly owner: string | undefined;
  readonly end: (hasPlace: boolean) => void;
}

/** A bounded number of places. Who comes first gets one first, unless its owner has enough of them. */
export class Semaphore {
  readonly #limits: PlaceLimits;
  readonly #taken = new Map<string | undefined, number>();
  #free: number;
  #queue: readonly Waiter[] = [];

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
    this.#free = limits.places;
  }

  /** What gives the place back. Undefined: too many wait, none became free in time, or the signal has ended the wait. */
  async take(owner: string | undefined, signal: AbortSignal): Promise<Disposable | undefined> {
    if (this.#isFree(owner)) this.#take(owner);
    else if (signal.aborted || !(await this.#wait(owner, signal))) return undefined;
    return { [Symbol.dispose]: () => this.#giveBack(owner) };
  }

  async #wait(owner: string | undefined, signal: AbortSignal): Promise<boolean> {
    const { waiting, waitingOfOwner, waitMs } = this.#limits;
    const ofOwner = owner === undefined ? 0 : this.#queue.filter((one) => one.owner === owner).length;
    if (this.#queue.length >= waiting || ofOwner >= waitingOfOwner) return false;
    const { promise, resolve: end } = Promise.withResolvers<boolean>();
    const waiter = { owner, end };
    this.#queue = [...this.#queue, waiter];
    const leave = (): void => {
      this.#queue = this.#queue.filter((one) => one !== waiter);
      end(false);
    };
    const timer = setTimeout(leave, waitMs);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }

  #isFree(owner: string | undefined): boolean {
    return this.#free > 0 && (owner === undefined || (this.#taken.get(owner) ?? 0) < this.#limits.ofOwner);
  }

  #take(owner: string | undefined): void {
    this.#free--;
    this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1);
  }

  #giveBack(owner: string | undefined): void {
    this.#free++;
    const left = (this.#taken.get(owner) ?? 1) - 1;
    if (left > 0) this.#taken.set(owner, left);
    else this.#taken.delete(owner);
    const next = this.#queue.find((one) => this.#isFree(one.owner));
    if (next === undefined) return;
    this.#queue = this.#queue.filter((one) => one !== next);
    this.#take(next.owner);
    next.end(true);
  }
}
