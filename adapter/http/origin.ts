import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

import { isLoopback } from './host-names.ts';

export interface CorsSettings {
  readonly enabled: boolean;
  readonly allowed_origins: readonly string[];
  readonly allowed_methods: readonly string[];
  readonly allowed_headers: readonly string[];
  readonly allow_credentials: boolean;
}

const PREFLIGHT_MAX_AGE_SECONDS = 600;
const EXPOSED = 'Mcp-Session-Id, X-Request-Id, Retry-After, WWW-Authenticate';

/**
 * Whether a page with this Origin came from the host that the request was sent to. That alone proves nothing, because a
 * name can be rebound to any address; who relies on it needs a proof of its own. The scheme is left aside: a proxy
 * that ends TLS need not say so.
 */
export function isOwnOrigin(origin: string | undefined, host: string): boolean {
  const url = URL.parse(origin ?? '');
  return url !== null && url.host !== '' && URL.parse(`${url.protocol}//${host}`)?.host === url.host;
}

/**
 * Who may call from a browser: DNS rebinding and cross-site requests end here (MCP, Streamable HTTP, security
 * warning). An Origin is allowed when it is in `cors.allowed_origins`, is that of `public_base_url`, or is a loopback
 * name while the adapter is bound to loopback; never because it equals the Host.
 */
export class OriginPolicy {
  readonly #cors: CorsSettings;
  readonly #origins: ReadonlySet<string>;
  readonly #loopbackOnly: boolean;

  constructor(cors: CorsSettings, options: { publicBaseUrl: string | null; boundHost: string }) {
    this.#cors = cors;
    const url = options.publicBaseUrl === null ? null : URL.parse(options.publicBaseUrl);
    this.#origins = new Set([...cors.allowed_origins, ...(url === null ? [] : [url.origin])]);
    this.#loopbackOnly = isLoopback(options.boundHost);
  }

  /** Whether the Origin header, if any, may call. */
  allowsOrigin(origin: string | undefined): boolean {
    if (origin === undefined) return true;
    if (this.#origins.has(origin) || this.#origins.has('*')) return true;
    return this.#loopbackOnly && isLoopback(URL.parse(origin)?.hostname ?? '');
  }

  /** Sets the CORS headers of an answer to an allowed origin. */
  decorate(origin: string | undefined, reply: ServerResponse): void {
    if (!this.#cors.enabled || origin === undefined) return;
    const any = this.#cors.allowed_origins.includes('*');
    if (!any && !this.#cors.allowed_origins.includes(origin)) return;
    reply.setHeader('access-control-allow-origin', any ? '*' : origin);
    if (!any) reply.setHeader('vary', 'Origin');
    if (this.#cors.allow_credentials) reply.setHeader('access-control-allow-credentials', 'true');
    reply.setHeader('access-control-expose-headers', EXPOSED);
  }

  /** Answers a preflight; false when this is none, or when CORS is off. */
  preflight(headers: IncomingHttpHeaders, reply: ServerResponse): boolean {
    if (!this.#cors.enabled || headers['access-control-request-method'] === undefined) return false;
    const requested = headers['access-control-request-headers'];
    const listed = this.#cors.allowed_headers;
    reply.setHeader('access-control-allow-methods', this.#cors.allowed_methods.join(', '));
    reply.setHeader('access-control-allow-headers', listed.includes('*') ? (requested ?? '*') : listed.join(', '));
    reply.setHeader('access-control-max-age', String(PREFLIGHT_MAX_AGE_SECONDS));
    reply.writeHead(204, { 'content-length': 0 }).end();
    return true;
  }
}
