import type { HeldLock, Locks } from './locks.ts';

/** `lock_mode: none`: nobody waits for anybody. */
export class NoLocks implements Locks {
  async hold<T>(_name: string, work: (held: HeldLock) => Promise<T>): Promise<T> {
    return work({ signal: new AbortController().signal, guard: undefined });
  }

  async close(): Promise<void> {}
}
