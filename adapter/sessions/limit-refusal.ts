import { AdapterError } from '../errors.ts';
import type { Refused, Shared, Taking } from '../state/call-limits.ts';

/** Whose calls a limit counts. */
const WHOSE: Readonly<Record<Shared, string>> = {
  caller: 'of this caller',
  server: 'of this server',
  tool: 'of this tool',
  'caller+tool': 'of this tool by this caller',
};
/** Nobody knows when a call ends. */
const PLACE_RETRY_SECONDS = 1;

/** What a client is told whose calls are too many. Who waits as long as it says is let in, unless others were faster. */
export function limitRefusal({ rates, places }: Taking, refused: Refused): AdapterError {
  if (refused.state === 'places') {
    const place = places[refused.index];
    const detail = place && `The limit of concurrent calls ${WHOSE[place.per]} is reached: ${place.most}. Try again.`;
    return new AdapterError('concurrency_limited', detail, { retryAfter: PLACE_RETRY_SECONDS });
  }
  const rate = rates[refused.index];
  const retryAfter = Math.max(1, Math.ceil(refused.waitMs / 1000));
  const detail = rate && `There were too many calls ${WHOSE[rate.per]}; wait ${retryAfter} s.`;
  return new AdapterError('rate_limited', detail, { retryAfter });
}
