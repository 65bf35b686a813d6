import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { MemoryStore } from '../state/memory/memory-store.ts';
import { StoreUnavailable } from '../state/state-store.ts';
import { whileLocked } from './store-lock.ts';

const TTL_MS = 60_000;
const never = new AbortController().signal;
const options = { name: 'work', owner: 'a', ttlMs: TTL_MS, signal: never };
const another = { ...options, owner: 'b' };

describe('work under a lock of the store', () => {
  let store: MemoryStore;

  beforeEach(() => {
    vi.useFakeTimers();
    store = new MemoryStore();
  });
  afterEach(() => vi.useRealTimers());

  test('is done by one replica at a time, and by the next one after that', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const first = whileLocked(store, options, () => promise);
    await vi.advanceTimersByTimeAsync(0);
    expect(await whileLocked(store, another, async () => 'second')).toBeUndefined();
    resolve('first');
    expect(await first).toBe('first');
    expect(await whileLocked(store, another, async () => 'third')).toBe('third');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('keeps the lock for as long as it takes, and gives it back after a failure', async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    const work = whileLocked(store, options, () => promise);
    const failed = expect(work).rejects.toThrow('broken');
    await vi.advanceTimersByTimeAsync(10 * TTL_MS);
    expect(await store.lockHolder('work')).toBeDefined();
    reject(new Error('broken'));
    await failed;
    expect(await store.lockHolder('work')).toBeUndefined();
  });

  test('is told when the lock was lost to somebody else', async () => {
    let given: AbortSignal | undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const work = whileLocked(store, options, (signal) => {
      given = signal;
      return promise;
    });
    await vi.advanceTimersByTimeAsync(0);
    await store.unlock('work', 'a');
    await store.tryLock('work', 'somebody', 10 * TTL_MS);
    await vi.advanceTimersByTimeAsync(TTL_MS / 3);
    expect(given?.aborted).toBe(true);
    resolve();
    await work;
    expect(await store.lockHolder('work')).toBe('somebody');
  });

  test('goes on over a short failure of the store, and ends when the lock must be over', async () => {
    let given: AbortSignal | undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const work = whileLocked(store, options, (signal) => {
      given = signal;
      return promise;
    });
    await vi.advanceTimersByTimeAsync(0);
    vi.spyOn(store, 'tryLock').mockRejectedValue(new StoreUnavailable('down'));
    await vi.advanceTimersByTimeAsync(TTL_MS / 3 + 1);
    expect(given?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(TTL_MS);
    expect(given?.aborted).toBe(true);
    resolve();
    await work;
  });

  test('is taken up again by who could not give the lock back', async () => {
    vi.spyOn(store, 'unlock').mockRejectedValueOnce(new StoreUnavailable('down'));
    expect(await whileLocked(store, options, async () => 1)).toBe(1);
    expect(await whileLocked(store, another, async () => 2)).toBeUndefined();
    expect(await whileLocked(store, options, async () => 3)).toBe(3);
    expect(await whileLocked(store, another, async () => 4)).toBe(4);
  });

  test('ends with the signal that it was given', async () => {
    const stop = new AbortController();
    const work = whileLocked(
      store,
      { ...options, signal: stop.signal },
      (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
    );
    await vi.advanceTimersByTimeAsync(0);
    stop.abort();
    expect(await work).toBe('stopped');
  });
});
