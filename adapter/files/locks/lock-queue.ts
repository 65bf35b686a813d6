import { AdapterError } from '../../errors.ts';

interface Waiter {
  readonly next: () => void;
  readonly fail: (error: AdapterError) => void;
}

interface Line {
  /** When this process began to hand the name from one to the next without a break. */
  since: number;
  readonly waiters: Waiter[];
}

/** A turn in the queue of a name. */
export interface QueuePosition {
  /** Milliseconds for which this process has had the name without a break. */
  readonly heldForMs: number;
  leave(): void;
}

/** Lets those of this process who ask for one name through one at a time, first come, first served. */
export class LockQueue {
  readonly #lines = new Map<string, Line>();
  #closed = false;

  async enter(name: string, waitMs: number): Promise<QueuePosition> {
    if (this.#closed) throw new AdapterError('draining');
    const line = this.#lines.get(name);
    if (line === undefined) {
      this.#lines.set(name, { since: performance.now(), waiters: [] });
      return { heldForMs: 0, leave: () => this.#leave(name) };
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => waiter.fail(new AdapterError('storage_busy')), waitMs);
    const waiter: Waiter = {
      next: resolve,
      fail: (error) => {
        const place = line.waiters.indexOf(waiter);
        if (place !== -1) line.waiters.splice(place, 1);
        reject(error);
      },
    };
    line.waiters.push(waiter);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
    return { heldForMs: performance.now() - line.since, leave: () => this.#leave(name) };
  }

  /** The name's time without a break begins anew: others had a chance. */
  paused(name: string): void {
    const line = this.#lines.get(name);
    if (line !== undefined) line.since = performance.now();
  }

  /** Whoever waits fails. */
  close(): void {
    this.#closed = true;
    for (const { waiters } of this.#lines.values()) {
      for (const waiter of waiters.splice(0)) waiter.fail(new AdapterError('draining'));
    }
  }

  #leave(name: string): void {
    const next = this.#lines.get(name)?.waiters.shift();
    if (next === undefined) this.#lines.delete(name);
    else next.next();
  }
}
