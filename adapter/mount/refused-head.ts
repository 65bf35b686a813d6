import { redactUrl } from '../../lib/redaction/redact-url.ts';
import { AdapterError } from '../errors.ts';
import type { ResponseHead } from '../exchange/upstream.ts';
import type { PingLoop } from '../upstream/ping-loop.ts';
import type { Mount } from './mount.ts';

/** Answers that say something about the configuration of the adapter, not to the client. */
export function refusedHead(
  {
    redact,
    relaysChallenges,
    ping,
  }: Pick<Mount, 'redact' | 'relaysChallenges'> & {
    readonly ping: Pick<PingLoop, 'refused'> | undefined;
  },
  { status, headers }: ResponseHead,
): AdapterError | undefined {
  if (status < 300 || status === 400 || status === 404) return undefined;
  if (status < 400) {
    // Its query often is that of upstream.url, in which a key may stand.
    const place = redact(redactUrl(String(headers.location)));
    const detail = `The upstream server redirects to ${place}; set upstream.url to its new place.`;
    return new AdapterError('upstream_failed', detail);
  }
  if ((status === 401 || status === 403) && !relaysChallenges) {
    // Pings are refused as well, and their answers are read to the end.
    const known = ping?.refused;
    return new AdapterError(
      'upstream_failed',
      known === undefined ? `The upstream server refused the adapter's credentials (HTTP ${status}).` : redact(known),
    );
  }
  return undefined;
}
