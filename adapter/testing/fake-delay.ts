/**
 * Stands in for node:timers/promises in tests that replace the clock: it waits on the global setTimeout, which fake
 * timers know. Use it as `vi.mock('node:timers/promises', () => import('…/testing/fake-delay.ts'))`.
 */
export function setTimeout<T>(ms: number, value: T, options: { signal?: AbortSignal } = {}): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const { signal } = options;
  const abort = (): void => {
    globalThis.clearTimeout(timer);
    reject(new Error('aborted'));
  };
  const timer = globalThis.setTimeout(() => {
    signal?.removeEventListener('abort', abort);
    resolve(value);
  }, ms);
  if (signal?.aborted) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  return promise;
}
