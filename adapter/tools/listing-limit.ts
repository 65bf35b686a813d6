import { AdapterError } from '../errors.ts';

/** For calls without a limit: whoever waits for one does not wait for its list. */
const NO_CALL_LIMIT_MS = 60_000;

/** How long the adapter may ask an upstream for its tools on behalf of a client. */
export interface ListingLimit extends Disposable {
  /** Aborted with `upstream_timeout` when the time is over, and when the client does not wait any more. */
  readonly signal: AbortSignal;
}

/**
 * @param client aborted once the client does not wait any more
 * @param limitMs that of the call which the list is for, in milliseconds; null where it has none
 */
export function listingLimit(client: AbortSignal, limitMs: number | null): ListingLimit {
  const controller = new AbortController();
  const onGone = (): void => controller.abort(new AdapterError('cancelled'));
  const seconds = (limitMs ?? NO_CALL_LIMIT_MS) / 1000;
  const detail = `The upstream server did not list its tools within ${seconds} seconds.`;
  const timer = setTimeout(() => controller.abort(new AdapterError('upstream_timeout', detail)), seconds * 1000);
  client.addEventListener('abort', onGone, { once: true });
  if (client.aborted) onGone();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      client.removeEventListener('abort', onGone);
    },
  };
}
