import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

import type { ResponseHead } from './upstream.ts';

/** Never forwarded, whatever the configuration lists (RFC 9110, section 7.6.1). */
const NEVER_FORWARDED = new Set([
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-session-id',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
]);

/** They name a request, and not who makes it. */
const OF_ONE_REQUEST = new Set(['traceparent', 'tracestate', 'x-correlation-id', 'x-request-id']);

/** Whether a header (in lower case) belongs to one request, also by what traces it. */
export const namesRequest = (lower: string): boolean => OF_ONE_REQUEST.has(lower) || lower === 'baggage';

const USER_AGENT = 'user-agent';

/** Whether a header may be listed in `client_headers.passthrough`. */
export function mayForward(name: string, authHeader: string): boolean {
  const lower = name.toLowerCase();
  return !NEVER_FORWARDED.has(lower) && lower !== authHeader.toLowerCase() && !lower.startsWith('mcp-');
}

export interface ForwardRules {
  readonly staticHeaders: Readonly<Record<string, string>>;
  readonly passthrough: readonly string[];
  readonly userAgent: string;
}

/** Which headers a request takes upstream: those of the protocol, the static ones, the listed ones; nothing else. */
export class HeaderForwarding {
  readonly #static: readonly (readonly [name: string, lower: string, value: string])[];
  readonly #passthrough: readonly (readonly [name: string, lower: string])[];
  readonly #userAgent: string;

  constructor(rules: ForwardRules) {
    this.#static = Object.entries(rules.staticHeaders).map(([name, value]) => [name, name.toLowerCase(), value]);
    this.#passthrough = rules.passthrough.map((name) => [name, name.toLowerCase()]);
    this.#userAgent = rules.userAgent;
  }

  /**
   * What every request of this client carries, the adapter's own for it included: names and values in turn.
   * `client` undefined: the static headers only.
   */
  base(method: 'POST' | 'GET' | 'DELETE', client: IncomingHttpHeaders | undefined): string[] {
    const out: string[] = [];
    let named = false;
    if (method === 'POST') {
      out.push('content-type', 'application/json', 'accept', 'application/json, text/event-stream');
    } else if (method === 'GET') out.push('accept', 'text/event-stream');
    for (const [name, lower, value] of this.#static) {
      const overridden =
        client !== undefined && client[lower] && this.#passthrough.some(([, listed]) => listed === lower);
      if (overridden) continue;
      out.push(name, value);
      named ||= lower === USER_AGENT;
    }
    for (const [name, lower] of this.#passthrough) {
      const value = client?.[lower];
      if (typeof value !== 'string' || value === '') continue;
      out.push(name, value);
      named ||= lower === USER_AGENT;
    }
    // Of two, servers take the first.
    if (!named) out.push(USER_AGENT, this.#userAgent);
    return out;
  }

  /**
   * Stands for all that goes upstream of a client's own headers: what an upstream says may differ where the key does. ''
   * when nothing does.
   */
  clientKey(client: IncomingHttpHeaders): string {
    let text = '';
    for (const [, lower] of this.#passthrough) {
      const value = client[lower];
      if (typeof value === 'string' && value !== '' && !OF_ONE_REQUEST.has(lower)) text += `${lower}:${value}\n`;
    }
    return text === '' ? '' : hash('sha256', text, 'base64');
  }

  /** The base with the protocol's headers of this one message, as the client sent them. */
  forward(method: 'POST' | 'GET' | 'DELETE', client: IncomingHttpHeaders, modern: boolean): string[] {
    const out = this.base(method, client);
    const version = client['mcp-protocol-version'];
    if (typeof version === 'string') out.push('mcp-protocol-version', version);
    if (!modern) return out;
    for (const name in client) {
      if (name !== 'mcp-method' && name !== 'mcp-name' && !name.startsWith('mcp-param-')) continue;
      const value = client[name];
      if (typeof value === 'string') out.push(name, value);
    }
    return out;
  }
}

/** Whether an answer is an event stream, and no single body. */
export const isEventStream = ({ headers }: Pick<ResponseHead, 'headers'>): boolean =>
  headers['content-type']?.startsWith('text/event-stream') ?? false;

/** Which headers of the upstream's answer reach the client: deny by default. */
export function responseHeaders(
  head: ResponseHead,
  sessionId: string | undefined,
  length: number | string | undefined,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  const type = head.headers['content-type'];
  if (type !== undefined) headers['content-type'] = type;
  if (isEventStream(head)) {
    headers['cache-control'] = 'no-cache, no-transform';
    headers['x-accel-buffering'] = 'no';
  } else if (length !== undefined) headers['content-length'] = length;
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  if (head.status >= 400) {
    const { 'retry-after': retryAfter, 'www-authenticate': challenge, allow } = head.headers;
    const seconds = secondsUntil(retryAfter, Date.now());
    if (seconds !== undefined) headers['retry-after'] = String(seconds);
    // With any other status it is not about the client: those are the adapter's own credentials.
    if (challenge !== undefined && (head.status === 401 || head.status === 403))
      headers['www-authenticate'] = challenge;
    if (allow !== undefined) headers['allow'] = allow;
  }
  return headers;
}

/** Clients wait for as long as they are told. */
const MAX_RETRY_AFTER_S = 3600;

/** `Retry-After` (RFC 9110, section 10.2.3) in seconds, from 1 to an hour; undefined for what is none. */
function secondsUntil(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : Math.ceil((Date.parse(retryAfter) - now) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_S);
}
