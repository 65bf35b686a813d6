/** Where pods connect to, and how it is read from their configurations. */
import { isIPv4, isIPv6 } from 'node:net';
import { isUnknown } from './known-values.ts';

/** A connection that pods make. */
export interface Connection {
  /** Path of the field that names it, such as `servers[0].upstream.url`. */
  readonly field: string;
  /** Undefined when it depends on a variable. IPv6 addresses stand without brackets. */
  readonly target: Target | undefined;
}

export interface Target {
  readonly host: string;
  readonly ports: readonly number[];
}

/** @param usual ports that are taken too when the URL has none */
export function targetOfUrl(value: unknown, usual: readonly number[] = []): Target | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  const [, scheme, authority] = /^(?:([a-z\0]+):\/\/)?([^/?#\\]*)/i.exec(text) ?? [];
  // Credentials do not matter, and they are what variables are used for.
  const place = authority?.slice(authority.lastIndexOf('@') + 1) ?? '';
  if (isUnknown(scheme) || isUnknown(place)) return undefined;
  const url = `${scheme ?? 'http'}://${place}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname: host, port, protocol } = new URL(url);
  if (host === '') return undefined;
  const ports = port === '' ? [protocol === 'https:' ? 443 : 80, ...usual] : [Number(port)];
  return { host: hostname(host), ports };
}

/**
 * Without the brackets of IPv6 addresses and without the dot of names that are complete. IPv4 addresses come out in one
 * form: programs also take them as a number, in hexadecimal or octal digits, and with parts left out.
 */
export function hostname(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (isIPv6(bare)) return bare;
  const name = bare.replace(/\.$/, '');
  const same = URL.parse(`http://${name}`)?.hostname ?? name;
  return isIPv4(same) ? same : name;
}
