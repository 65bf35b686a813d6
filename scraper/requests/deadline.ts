/** One wait on the outside: its signal aborts when the time is up or when `outer` does. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Whether the time was up, rather than `outer` aborted. */
  readonly expired: boolean;
  /** Waits for something that is not on the outside; the time does not go on meanwhile. */
  paused<T>(wait: () => Promise<T>): Promise<T>;
}

/**
 * `AbortSignal.any` with a signal that lives as long as the process would keep a little of every request; this lets go
 * of it when disposed.
 */
export function deadline(timeoutMs: number, outer: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const abort = (): void => controller.abort(outer.reason);
  let left = timeoutMs;
  let since = performance.now();
  const begin = (): NodeJS.Timeout =>
    setTimeout(() => {
      expired = !controller.signal.aborted;
      controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
    }, left);
  let timer = begin();
  if (outer.aborted) abort();
  else outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    async paused(wait) {
      clearTimeout(timer);
      left = Math.max(0, left - (performance.now() - since));
      try {
        return await wait();
      } finally {
        since = performance.now();
        timer = begin();
      }
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
