import { AdapterError } from '../errors.ts';
import type { Turn } from './turn.ts';

/** For calls without a limit: whoever waits for one does not wait for its list. */
const NO_CALL_LIMIT_MS = 60_000;

/** How long the adapter may ask an upstream for its tools on behalf of a client. */
export interface ListingLimit extends Disposable {
  /** Aborted with `upstream_timeout` when the time is over, and with `cancelled` when the client has gone. */
  readonly signal: AbortSignal;
}

/** @param limitMs that of the call which the list is for, in milliseconds; null where it has none */
export function listingLimit({ incoming: { reply } }: Turn, limitMs: number | null): ListingLimit {
  const controller = new AbortController();
  const onClose = (): void => controller.abort(new AdapterError('cancelled'));
  const seconds = (limitMs ?? NO_CALL_LIMIT_MS) / 1000;
  const detail = `The upstream server did not list its tools within ${seconds} seconds.`;
  const timer = setTimeout(() => controller.abort(new AdapterError('upstream_timeout', detail)), seconds * 1000);
  reply.once('close', onClose);
  if (reply.destroyed) onClose();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      reply.off('close', onClose);
    },
  };
}

/** What a promise resolves to. Rejects with the signal's reason as soon as that is aborted; the work itself goes on. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
