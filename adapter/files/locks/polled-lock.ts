import { setTimeout as delay } from 'node:timers/promises';
import { AdapterError } from '../../errors.ts';
import { LockQueue } from './lock-queue.ts';
import { type HeldLock, LOCK_WAIT_MS, type Locks } from './locks.ts';

/** A lock outside this process, which tells nobody when it becomes free. */
export interface PolledLock {
  /** Takes the lock; undefined: somebody else has it. */
  take(name: string): Promise<TakenLock | undefined>;
  /** Frees what was opened to take locks, when none is held any more. */
  close?(): void;
}

export interface TakenLock {
  readonly held: HeldLock;
  /** Never fails: what cannot be given back ends by itself. */
  release(): Promise<void>;
}

const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 50;
/** A process that hands a lock from one to the next of its own for so long pauses, so that others find it free. */
const FAIR_AFTER_MS = 250;
const FAIR_PAUSE_MS = 2 * LONGEST_PAUSE_MS;

/**
 * Locks that must be asked for again and again. The process stands in line as one: its own waiters take turns first, so
 * only one of them asks.
 */
export class PolledLocks implements Locks {
  readonly #lock: PolledLock;
  readonly #queue = new LockQueue();
  readonly #closing = new AbortController();
  #holders = 0;

  constructor(lock: PolledLock) {
    this.#lock = lock;
  }

  async hold<T>(name: string, work: (held: HeldLock) => Promise<T>): Promise<T> {
    const deadline = performance.now() + LOCK_WAIT_MS;
    const turn = await this.#queue.enter(name, LOCK_WAIT_MS);
    this.#holders += 1;
    try {
      if (turn.heldForMs > FAIR_AFTER_MS) {
        await this.#pause(FAIR_PAUSE_MS);
        this.#queue.paused(name);
      }
      const taken = await this.#take(name, deadline);
      try {
        return await work(taken.held);
      } finally {
        await taken.release();
      }
    } finally {
      turn.leave();
      this.#holders -= 1;
      this.#closeWhenIdle();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new AdapterError('draining'));
    this.#queue.close();
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#holders === 0 && this.#closing.signal.aborted) this.#lock.close?.();
  }

  async #take(name: string, deadline: number): Promise<TakenLock> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const taken = await this.#lock.take(name);
      if (taken !== undefined) return taken;
      const left = deadline - performance.now();
      if (left <= 0) throw new AdapterError('storage_busy');
      // Spread out, so that two processes do not ask at the same moments for ever.
      await this.#pause(Math.min(left, pause * (0.5 + Math.random() / 2)));
    }
  }

  async #pause(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.#closing.signal });
    } catch (error) {
      this.#closing.signal.throwIfAborted();
      throw error;
    }
  }
}
