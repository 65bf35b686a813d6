import { LockQueue } from './lock-queue.ts';
import { type HeldLock, LOCK_WAIT_MS, type Locks } from './locks.ts';

/** `lock_mode: process`: writers of this process take turns. */
export class ProcessLocks implements Locks {
  readonly #queue = new LockQueue();

  async hold<T>(name: string, work: (held: HeldLock) => Promise<T>): Promise<T> {
    const turn = await this.#queue.enter(name, LOCK_WAIT_MS);
    try {
      return await work({ signal: new AbortController().signal, guard: undefined });
    } finally {
      turn.leave();
    }
  }

  async close(): Promise<void> {
    this.#queue.close();
  }
}
