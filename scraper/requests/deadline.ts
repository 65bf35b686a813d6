/** One wait on the outside: its signal aborts when the time is up or when `outer` does. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Whether the time was up, rather than `outer` aborted. */
  readonly expired: boolean;
}

/**
 * `AbortSignal.any` with a signal that lives as long as the process would keep a little of every request; this lets go
 * of it when disposed.
 */
export function deadline(timeoutMs: number, outer: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const abort = (): void => controller.abort(outer.reason);
  const timer = setTimeout(() => {
    expired = !controller.signal.aborted;
    controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
  }, timeoutMs);
  if (outer.aborted) abort();
  else outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
