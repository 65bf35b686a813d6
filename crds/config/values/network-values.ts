import { isIP } from 'node:net';
import { z } from 'zod';
import { withoutEndSlashes, withoutOuterSlashes } from '../../../lib/slashes.ts';
import { onText, trimmedAnd, trimmedOrNull } from './values.ts';

/**
 * Kinds of values that name things on a network. Patterns are as wide as what may be written (white space, case), not
 * as narrow as what comes out, so that a JSON Schema made from them accepts every text that the program accepts.
 */

const SEGMENTS = /^\s*\/*[A-Za-z0-9._~@+,=-]+(\/[A-Za-z0-9._~@+,=-]+)*\/*\s*$/;
const SCHEME = /^\s*[A-Za-z][A-Za-z0-9+.-]*:\/\/\s*$/;
/** Any byte but control characters; line breaks are the usual mistake, because secret files often end with one. */
const HEADER_VALUE = /^[\t -~\u0080-\u00FF]*$/;
const HEADER_NAME = /^\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*$/;

/** Header names that belong to one connection or frame one message: HTTP clients refuse them or break on them. */
const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const isHttpUrl = (value: string): boolean => /^https?:\/\/[^\s/]/i.test(value) && URL.canParse(value);

const isBaseUrl = (value: string): boolean => {
  if (!isHttpUrl(value)) return false;
  const { username, password, search, hash } = new URL(value);
  return [username, password, search, hash].every((part) => part === '');
};

/** An IPv4 or IPv6 address. */
export function ipAddress() {
  return trimmedAnd('an IP address such as 0.0.0.0, 127.0.0.1 or ::', (value) => isIP(value) !== 0);
}

/** The address of proxies: an address, a network in CIDR notation, or one of three words for private ranges. */
export function proxyAddress() {
  const words = ['loopback', 'linklocal', 'uniquelocal'];
  return trimmedAnd(
    'an IP address, a network such as 10.0.0.0/8, or one of loopback, linklocal, uniquelocal',
    (value) => words.includes(value) || isIP(value) !== 0 || isNetwork(value),
  );
}

function isNetwork(value: string): boolean {
  const [, address = '', length = ''] = /^([^/]+)\/(\d{1,3})$/.exec(value) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(length) <= (family === 4 ? 32 : 128);
}

/** An absolute `http` or `https` URL. */
export function httpUrl() {
  return trimmedAnd('an absolute http:// or https:// URL', isHttpUrl);
}

/** An absolute URL that paths are appended to, without its trailing slash; null or blank when there is none. */
export function baseUrlOrNull() {
  const allowed = 'an absolute http:// or https:// URL without credentials, query and fragment, or null';
  return trimmedOrNull(allowed, isBaseUrl).transform((value) => (value === null ? null : withoutEndSlashes(value)));
}

/** Where telemetry goes: an absolute URL, or `host:port` (which gRPC exporters take). */
export function otlpEndpoint() {
  return trimmedAnd(
    'an absolute http:// or https:// URL, or host:port (grpc only)',
    (value) => isHttpUrl(value) || /^([\w.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/.test(value),
  );
}

/** A host name or an IP address, without a scheme and a port. */
export function hostName() {
  return trimmedAnd(
    'a host name or an IP address, without scheme and port',
    (value) => isIP(value) !== 0 || /^[\w.-]+$/.test(value),
  );
}

/**
 * What may stand in `Host`: a name or an address, perhaps with a port; `*.example.com` for every name below one; `*` for any.
 * Comes out in lower case.
 */
export function hostPattern() {
  const error = 'a host such as mcp.example.com, mcp.example.com:8443, *.example.com or [fd00::1], or * for any';
  const shape = /^\s*(\*|((\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?)\s*$/;
  return z.preprocess(
    onText((host) => host.trim().toLowerCase()),
    z.string({ error }).regex(shape, { error }),
  );
}

/** An HTTP path that is not `/`. Comes out with a leading slash and without a trailing one. */
export function httpPath() {
  const error = 'an HTTP path other than /, made of letters, digits and . _ ~ @ + , = - between slashes';
  return z.preprocess(
    onText((path) => `/${withoutOuterSlashes(path.trim())}`),
    z
      .string({ error })
      .regex(SEGMENTS, { error })
      .refine((path) => !path.split('/').some((segment) => segment === '.' || segment === '..'), { error }),
  );
}

/** The start of a URI up to and with `://`. Comes out in lower case. */
export function uriScheme() {
  const error = 'a URI scheme that ends with ://, such as upload://';
  return z.preprocess(
    onText((scheme) => scheme.trim().toLowerCase()),
    z.string({ error }).regex(SCHEME, { error }),
  );
}

/** The name of an HTTP header (a token: RFC 9110, section 5.6.2), trimmed. */
export function headerName() {
  return trimmedAnd('the name of an HTTP header', (value) => HEADER_NAME.test(value));
}

/** An HTTP method, or `*`. Comes out in upper case. */
export function httpMethod() {
  const error = 'an HTTP method such as GET, or *';
  return z.preprocess(
    onText((method) => method.trim().toUpperCase()),
    z.string({ error }).regex(HEADER_NAME, { error }),
  );
}

/** What a browser sends as `Origin`, or `*` for any. Comes out in lower case and without a trailing slash. */
export function origin() {
  const error = 'an origin such as https://app.example.com (scheme, host and port only), or *';
  const shape = /^\s*(\*|[Nn][Uu][Ll][Ll]|[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/?#*@]+\/?)\s*$/;
  return z.preprocess(
    onText((text) => text.trim().toLowerCase().replace(/\/$/, '')),
    z.string({ error }).regex(shape, { error }),
  );
}

/** Header names and values that the program sends itself. A name may appear once, in any letter case. */
export function headerMap() {
  const error = 'a mapping from header names to strings';
  const value = z.string({ error: 'a string' }).refine((text) => HEADER_VALUE.test(text), {
    error: 'a string without line breaks, control characters and characters above U+00FF',
  });
  return z.record(z.string(), value, { error }).superRefine((headers, context) => {
    const seen = new Set<string>();
    for (const name of Object.keys(headers)) {
      const problem = nameProblem(name, seen);
      if (problem !== undefined) {
        context.addIssue({ code: 'custom', path: [name], message: problem, params: { rule: true } });
      }
      seen.add(name.toLowerCase());
    }
  });
}

function nameProblem(name: string, seen: ReadonlySet<string>): string | undefined {
  if (!HEADER_NAME.test(name) || name !== name.trim()) return `"${name}" is not a valid HTTP header name`;
  if (FRAMING_HEADERS.has(name.toLowerCase())) return 'this header belongs to the connection and cannot be set here';
  if (seen.has(name.toLowerCase())) return 'this header is already set above under another letter case';
  return undefined;
}
