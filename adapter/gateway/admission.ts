import { redactUrl } from '../../crds/config/redact-url.ts';
import { AdapterError } from '../errors.ts';
import type { Outcome } from '../exchange/exchange.ts';
import { type Message, toolName } from '../exchange/message.ts';
import type { ResponseHead } from '../upstream/upstream.ts';
import type { Incoming } from './incoming.ts';
import type { Mount } from './mount.ts';

/** Throws unless every header of `client_headers.required` is there. */
export function requireHeaders(mount: Mount, incoming: Incoming): void {
  for (const name of mount.requiredHeaders) {
    const value = incoming.headers[name];
    if (value !== undefined && value !== '') continue;
    throw new AdapterError('missing_client_header', `The header ${name} is required by this server and is missing.`);
  }
}

/** The session id that the client sent. */
export function requireSession(incoming: Incoming): string {
  const sessionId = incoming.headers['mcp-session-id'];
  if (typeof sessionId !== 'string' || sessionId === '') throw new AdapterError('missing_session');
  return sessionId;
}

/** Asks the circuit breaker. Throws `upstream_unavailable` while it is open. */
export function admit(mount: Mount): Admitted {
  const admission = mount.breaker.admit(Date.now());
  if (admission.kind === 'pass') return NO_PROBE;
  if (admission.kind === 'probe') return new Probe(mount);
  const detail = `The upstream server "${mount.serverId}" is unhealthy; requests are rejected for now.`;
  throw new AdapterError('upstream_unavailable', detail, {
    retryAfter: Math.max(1, Math.ceil(admission.retryAfterMs / 1000)),
  });
}

/** An admitted request. One that was admitted as a probe must be finished, however little came of it. */
export interface Admitted {
  /** The upstream has answered with this status. */
  answered(status: number): void;
  finished(outcome: Outcome): void;
}

/** What a request that is no probe tells the breaker. */
export const NO_PROBE: Admitted = { answered: () => {}, finished: () => {} };

/** Ends of a request to which the upstream has said nothing. */
const GONE: ReadonlySet<Outcome> = new Set(['upstream_broke', 'upstream_unreachable', 'upstream_timeout', 'timeout']);

/** Tells the breaker, once, what a request of its half-open state has shown. */
class Probe implements Admitted {
  readonly #mount: Mount;
  #told = false;

  constructor(mount: Mount) {
    this.#mount = mount;
  }

  /** The head decides: a stream may stay open for hours. */
  answered(status: number): void {
    if (this.#told) return;
    this.#told = true;
    if (status < 500) this.#mount.breaker.probeSucceeded();
    else this.#mount.breaker.probeFailed(Date.now());
  }

  finished(outcome: Outcome): void {
    if (this.#told) return;
    this.#told = true;
    if (GONE.has(outcome)) this.#mount.breaker.probeFailed(Date.now());
    else this.#mount.breaker.probeAbandoned();
  }
}

/** Throws for a call of a tool that `disabled_tools` hides; to the client it does not exist. */
export function refuseDisabled(mount: Mount, call: Message): void {
  if (!mount.disabled.any) return;
  const name = toolName(call);
  if (name === undefined) throw new AdapterError('unknown_tool', 'The tool call names no tool.');
  if (mount.disabled.matches(name)) throw new AdapterError('unknown_tool', `Unknown tool: ${name}`);
}

/** Answers that say something about the configuration of the adapter, not to the client. */
export function rejectedHead(mount: Mount, head: ResponseHead): AdapterError | undefined {
  const { status } = head;
  if (status < 300 || status === 400 || status === 404) return undefined;
  if (status < 400) {
    // Its query often is that of upstream.url, in which a key may stand.
    const place = mount.redact(redactUrl(String(head.headers.location)));
    const detail = `The upstream server redirects to ${place}; set upstream.url to its new place.`;
    return new AdapterError('upstream_failed', detail);
  }
  if ((status === 401 || status === 403) && !mount.relaysChallenges) {
    return new AdapterError(
      'upstream_failed',
      `The upstream server refused the adapter's credentials (HTTP ${status}).`,
    );
  }
  return undefined;
}
