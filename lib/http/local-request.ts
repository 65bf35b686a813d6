import type { IncomingHttpHeaders } from 'node:http';

/** The names by which a port of this machine is reached from it. */
const LOCAL = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/**
 * Why a request may not come to a port for this machine alone; undefined: it may. A page in a browser beside the program
 * can send requests to the port, also under a name of its own that leads to 127.0.0.1; but not without these headers.
 * Source: Fetch, "Origin" and "Sec-Fetch-Site".
 */
export function notLocal(headers: IncomingHttpHeaders): string | undefined {
  if (!LOCAL.test(headers.host ?? '')) return 'This port answers to localhost only';
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) return 'This port is not for pages';
  return undefined;
}
