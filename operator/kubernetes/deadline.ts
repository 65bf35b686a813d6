/** One wait on the outside: its signal aborts when the time is up or when `signal` does. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: Error): void;
  /** The time no longer counts, `signal` still does. */
  disarm(): void;
}

/**
 * `AbortSignal.any` with a signal that lives as long as the process would keep a little of every request; this lets go
 * of it when disposed.
 */
export function deadline(timeoutMs: number, what: string, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal?.reason);
  const timer = setTimeout(
    () => controller.abort(new DOMException(`${what}: no answer within ${timeoutMs} ms`, 'TimeoutError')),
    Math.max(0, timeoutMs),
  );
  if (signal?.aborted) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    disarm: () => clearTimeout(timer),
    [Symbol.dispose]() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}
