import { localUrl } from '../../lib/net/local-url.ts';

/** A name, an IPv4 address or an IPv6 address in brackets, and perhaps a port. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** What a request says about how its client reached us; a forwarding proxy's words only if the proxy is trusted. */
export interface Reached {
  readonly protocol: string;
  readonly host: string;
}

/** Where the program listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
}

/**
 * The URL that clients reach the adapter by, without a slash at the end (specification 2.1, `public_base_url`): the
 * configured one, else `X-Forwarded-Proto` and `X-Forwarded-Host` of a trusted proxy, else what the request was sent
 * to, else the address that the program listens on. Whoever decides it decides where files are sent to, so nothing
 * that does not look like a host gets into it.
 */
export function baseUrl(publicBaseUrl: string | null, request: Reached | undefined, listening: Listening): string {
  if (publicBaseUrl !== null) return publicBaseUrl.replace(/\/+$/, '');
  if (request !== undefined && HOST.test(request.host)) {
    const scheme = request.protocol.toLowerCase() === 'https' ? 'https' : 'http';
    return `${scheme}://${request.host}`;
  }
  return localUrl(listening.host, listening.port);
}
