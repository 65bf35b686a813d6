import { ExactNumber } from '../../../lib/json/exact-number.ts';
import { formatDuration } from '../values/duration.ts';
import { credentials, longestFirst, scrubbed, secretsInHeaders } from '../adapter-file/redact-config.ts';
import { redactUrl, secretsOfUrl } from '../../../lib/redaction/redact-url.ts';
import type { Auth } from './auth.ts';
import type { ClientTls } from './tls.ts';
import type { ScraperConfig, Source } from './scraper.ts';
import { REDACTED, looksSecret } from '../../../lib/redaction/secret-names.ts';

/** Fields whose value is a secret, wherever they stand. */
const SECRETS: ReadonlySet<string> = new Set(['password', 'token', 'client_secret', 'keyValue', 'data', 'key']);
/** Fields whose values are headers. */
const HEADERS: ReadonlySet<string> = new Set(['otelHeaders', 'extraHeaders', 'tokenHeaders']);
const DURATIONS: ReadonlySet<string> = new Set([
  'frequency',
  'jitter',
  'shutdownGrace',
  'timeout',
  'initialDelay',
  'maxDelay',
  'per',
  'lag',
  'overlap',
  'maxCatchUp',
]);

/**
 * The effective configuration for people to read: secrets, the values of all headers and credentials in URLs are
 * `<redacted>`, also where they were written in some other field. Durations are texts again.
 */
export function redactedScraperConfig(config: ScraperConfig): Record<string, unknown> {
  return scrubbed(shownMap(config), scraperSecrets(config));
}

function shownMap(node: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, shown(key, value)]));
}

function shown(key: string, value: unknown): unknown {
  if (value === null || value === '') return value;
  if (SECRETS.has(key)) return REDACTED;
  if (typeof value === 'number') return DURATIONS.has(key) ? formatDuration(value) : value;
  if (typeof value === 'string') return redactUrl(value);
  if (Array.isArray(value)) return value.map((item: unknown) => shown('', item));
  if (typeof value !== 'object' || value instanceof ExactNumber) return value;
  const entries = Object.entries(value);
  if (HEADERS.has(key)) return Object.fromEntries(entries.map(([name]) => [name, REDACTED]));
  // The parameters of a source: what belongs to a name such as `api_key` is most likely one.
  if (key === 'extraArgs') {
    return Object.fromEntries(entries.map(([name, item]) => [name, looksSecret(name) ? REDACTED : shown('', item)]));
  }
  return shownMap(value);
}

/**
 * Every secret that stands in the configuration, for removal from logs; longest first, so that none is replaced in
 * part.
 */
export function scraperSecrets({ scraper, sources }: ScraperConfig): string[] {
  return longestFirst([
    ...secretsOfUrl(scraper.otelCollectorEndpoint),
    ...Object.values(scraper.otelHeaders).flatMap(credentials),
    scraper.fingerprintStore.valkey.password,
    ...tlsSecrets(scraper.otelTls),
    ...sources.flatMap(sourceSecrets),
  ]);
}

function sourceSecrets({ baseUrl, endpoint, scrape, auth, tls }: Source): (string | null)[] {
  const secretArgs = Object.entries(scrape.extraArgs).filter(([name]) => looksSecret(name));
  return [
    ...secretsOfUrl(baseUrl),
    ...secretsOfUrl(endpoint),
    ...secretsInHeaders(scrape.extraHeaders),
    ...secretArgs.flatMap(([, value]) => textsIn(value)),
    ...(auth === null ? [] : authSecrets(auth)),
    ...tlsSecrets(tls),
  ];
}

function authSecrets(auth: Auth): (string | null)[] {
  if (auth.type === 'basic') return basicSecrets(auth.username, auth.password);
  if (auth.type === 'apikey') return credentials(auth.keyValue);
  if (auth.type === 'azuread') return [auth.client_secret, ...secretsOfUrl(auth.tokenEndpoint)];
  return [
    auth.token,
    ...basicSecrets(auth.username ?? '', auth.password),
    ...secretsOfUrl(auth.getTokenEndpoint ?? ''),
    ...Object.values(auth.tokenHeaders).flatMap(credentials),
    ...secretsInBody(auth.bodyData?.data),
  ];
}

/** The password, and what the header `Authorization` makes of it. */
const basicSecrets = (username: string, password: string | null): string[] =>
  password === null ? [] : [password, Buffer.from(`${username}:${password}`).toString('base64')];

/** A body that is one text is a secret as a whole; in a mapping, only what has the name of a secret. */
function secretsInBody(data: unknown): string[] {
  if (typeof data !== 'object' || data === null) return textsIn(data);
  return Object.entries(data).flatMap(([name, value]) => (looksSecret(name) ? textsIn(value) : []));
}

const tlsSecrets = ({ key }: ClientTls): (string | null)[] => [key];

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof ExactNumber) return [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
