import type { StateStore } from '../state/state-store.ts';

export interface StoreLockOptions {
  readonly name: string;
  /** Unique among all that ask. Who asks again after an outage that kept the lock from being given back has it still. */
  readonly owner: string;
  /** How long the lock outlives a replica that dies, in milliseconds. It is extended three times as often. */
  readonly ttlMs: number;
  /** Ends the work early. */
  readonly signal: AbortSignal;
}

/**
 * Does work that one replica at a time should do, for as long as it takes. Undefined: another one is at it. `work`
 * gets a signal that ends with `options.signal`, or when the lock was lost; it excludes waste, not mistakes, so what
 * is done under it must be safe to be done twice.
 */
export async function whileLocked<T>(
  store: Pick<StateStore, 'tryLock' | 'unlock'>,
  options: StoreLockOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const { name, owner, ttlMs } = options;
  if (!(await store.tryLock(name, owner, ttlMs))) return undefined;
  const lost = new AbortController();
  let heldUntil = performance.now() + ttlMs;
  const extending = setInterval(() => {
    const asked = performance.now();
    store.tryLock(name, owner, ttlMs).then(
      (held) => {
        if (held) heldUntil = asked + ttlMs;
        else lost.abort(new Error(`the lock ${name} was lost`));
      },
      (cause: unknown) => {
        if (asked >= heldUntil) lost.abort(new Error(`the lock ${name} could not be extended`, { cause }));
      },
    );
  }, ttlMs / 3).unref();
  try {
    return await work(AbortSignal.any([options.signal, lost.signal]));
  } finally {
    clearInterval(extending);
    // What cannot be given back now ends by itself.
    await store.unlock(name, owner).catch(() => undefined);
  }
}
