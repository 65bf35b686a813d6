import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { whileLocked } from '../sessions/store-lock.ts';
import type { StateStore } from '../state/state-store.ts';

/** How long a lock outlives a replica that dies. */
const TTL_MS = 10_000;
const POLL_MS = 25;

/** A lock of the store that is held until it is given back. */
export interface HeldLock {
  /** Ends when it was lost. */
  readonly signal: AbortSignal;
  /** Never fails. */
  release(): Promise<void>;
}

/**
 * Waits for a lock that one call over all replicas may hold. Undefined: somebody else had it all the time.
 * @param waitMs how long it is waited for
 */
export async function heldLock(
  store: Pick<StateStore, 'tryLock' | 'unlock'>,
  name: string,
  options: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<HeldLock | undefined> {
  const until = performance.now() + options.waitMs;
  const lock = { name, owner: randomUUID(), ttlMs: TTL_MS, signal: options.signal };
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until it is free
    const held = await attempt(store, lock);
    if (held !== undefined) return held;
    if (performance.now() >= until) return undefined;
    // oxlint-disable-next-line no-await-in-loop -- the same
    await delay(POLL_MS, undefined, { signal: options.signal });
  }
}

async function attempt(
  store: Pick<StateStore, 'tryLock' | 'unlock'>,
  lock: Parameters<typeof whileLocked>[1],
): Promise<HeldLock | undefined> {
  const got = Promise.withResolvers<AbortSignal | undefined>();
  const over = Promise.withResolvers<void>();
  const running = whileLocked(store, lock, async (signal) => {
    got.resolve(signal);
    await over.promise;
  });
  running.then(() => got.resolve(undefined), got.reject);
  const signal = await got.promise;
  if (signal === undefined) return undefined;
  return {
    signal,
    async release() {
      over.resolve();
      await running.catch(() => undefined);
    },
  };
}
