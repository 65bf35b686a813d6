/**
 * Hosts of connections whose names hold the value of a variable, which may be a Secret. Whoever reads a log, a status or
 * health sees them as they are written.
 */
import { type Environment, interpolate, type ReferenceFound } from '../references/reference.ts';

export interface HiddenPlace {
  readonly host: string;
  /** Such as `${TENANT}.example.com`. */
  readonly written: string;
}

/** Fields of both programs that say where to connect to. */
const CONNECTION = /^(url|host|baseUrl|\w*endpoint)$/i;
/** Hosts have 253 characters at most; what is longer is no place, and would take long to look for. */
const MAX_HOST = 253;

/** @param found the references of a configuration, none of them unset */
export function hiddenPlaces(found: readonly ReferenceFound[], env: Environment): HiddenPlace[] {
  if (found.length === 0) return [];
  // No value of a variable holds a zero.
  const marks = Object.fromEntries(
    Object.entries(env)
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name]) => [name, `\0${name}\0`]),
  );
  const places = new Map<string, string>();
  for (const { path, written } of found) {
    // Where a program listens is no connection.
    if (path[0] === 'core' || !CONNECTION.test(String(path.at(-1)))) continue;
    const marked = hostIn(interpolate(written, marks).text);
    if (!marked.includes('\0')) continue;
    // It may stand in lines of JSON.
    const shown = marked.replaceAll(/\0(\w+)\0/g, '${$1}').replaceAll(/["\\]/g, '');
    for (const host of formsOf(hostIn(interpolate(written, env).text))) if (!places.has(host)) places.set(host, shown);
  }
  // The longest first: one may be the end of another.
  return [...places].map(([host, written]) => ({ host, written })).toSorted((a, b) => b.host.length - a.host.length);
}

/** What writes hidden places as they stand in the configuration. */
export function withPlaceholders(places: readonly HiddenPlace[] = []): (text: string) => string {
  if (places.length === 0) return (text) => text;
  const known = places.map(({ host, written }) => ({ host, written, pattern: patternOf(host) }));
  return (text) => {
    let out = text;
    const lower = text.toLowerCase();
    for (const { host, written, pattern } of known) {
      if (lower.includes(host)) out = out.replaceAll(pattern, () => written);
    }
    return out;
  };
}

/** A URL, or a host with or without a port. */
function hostIn(text: string): string {
  const scheme = text.indexOf('://');
  const [authority = ''] = text.slice(scheme < 0 ? 0 : scheme + 3).split(/[/?#\\]/, 1);
  const place = authority.slice(authority.lastIndexOf('@') + 1).trim();
  const bracketed = /^\[([^\]]*)\]/.exec(place)?.[1];
  // More than one colon is an address of IPv6.
  return bracketed ?? (place.split(':').length === 2 ? place.slice(0, place.indexOf(':')) : place);
}

/** As it was given, and as a connection is made to it, in lower case. */
function formsOf(host: string): string[] {
  if (host === '' || host.length > MAX_HOST) return [];
  const same = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}`)?.hostname.replace(/^\[|\]$/g, '');
  return [...new Set([host.toLowerCase(), ...(same === undefined ? [] : [same])])];
}

/** A name of one label, such as `redis`, is an ordinary word too, so it counts only where a host stands. */
function patternOf(host: string): RegExp {
  const name = host.replaceAll(/\W/g, String.raw`\$&`);
  if (/[.:]/.test(host)) return new RegExp(`(?<![\\w.-])${name}(?![\\w-]|\\.\\w)`, 'gi');
  const before = String.raw`(?<=\/\/|@|\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT) |Host: |refused: )`;
  return new RegExp(`${before}${name}(?![\\w-]|\\.\\w)|(?<![\\w.-])${name}(?=:\\d| resolves to )`, 'g');
}
