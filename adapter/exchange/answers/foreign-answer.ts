import { AdapterError, upstreamNotJson } from '../../errors.ts';
import type { ResponseHead } from '../upstream.ts';
import type { Refusal } from '../scanning/refusal.ts';

/** Statuses that say something about the request or the moment; any other failure is the upstream's own (502). */
const PASSED_STATUS = new Set([400, 401, 403, 405, 429, 503]);

/**
 * Whether an answer that is no event stream is none of MCP. Pages of web servers and proxies are not passed on: no client
 * of MCP can read them, but a browser would. `isAsked`: a message is expected.
 */
export function isForeign(head: ResponseHead, isAsked: boolean): boolean {
  const type = head.headers['content-type'];
  if (type?.startsWith('application/json')) return false;
  return head.status >= 400 || (type !== undefined && isAsked);
}

/** What the client gets instead. */
export function foreignError({ status, headers }: ResponseHead): { error: AdapterError; status: number } {
  const what = status < 400 ? `content of the type ${headers['content-type']?.slice(0, 100)}` : `HTTP ${status}`;
  const error = new AdapterError('upstream_failed', `The upstream server answered with ${what}.`);
  return { error, status: PASSED_STATUS.has(status) ? status : 502 };
}

const NO_RESPONSE = 'The upstream server answered with what is no response of MCP.';

/** The same for a body that is no message which may pass. */
export function refusedError(refusal: Refusal, { status }: ResponseHead): { error: AdapterError; status: number } {
  const error = refusal === 'malformed' ? upstreamNotJson() : new AdapterError('upstream_failed', NO_RESPONSE);
  return { error, status: PASSED_STATUS.has(status) ? status : 502 };
}
