import { ExactNumber } from '../../../lib/json/exact-number.ts';
import type { AdapterConfig } from './adapter.ts';
import type { OAuth } from './core.ts';
import { hasRandomWord } from '../../../lib/random-word.ts';
import type { HiddenPlace } from '../../../lib/redaction/hidden-places.ts';
import { createRedaction, type Redaction } from '../../../lib/redaction/redact.ts';
import { decoded, redactUrl, secretsOfUrl } from '../../../lib/redaction/redact-url.ts';
import type { Environment } from '../../../lib/references/reference.ts';
import { secretForms } from '../../../lib/redaction/secret-forms.ts';
import { createScrubber } from '../../../lib/redaction/scrubber.ts';
import { REDACTED, looksSecret } from '../../../lib/redaction/secret-names.ts';

/** Shorter secrets are words that also stand elsewhere for other reasons; they are hidden only where they belong. */
const MIN_SCRUBBED = 8;

/**
 * The effective configuration for people to read: secrets, the values of all headers and credentials in URLs are
 * `<redacted>`. A secret that was also written in some other field is taken out there too.
 */
export function redactedConfig(config: AdapterConfig, env: Environment = {}): Record<string, unknown> {
  const { core, telemetry, state_persistence, servers } = config;
  const redacted = {
    ...config,
    core: {
      ...core,
      auth: {
        ...core.auth,
        token: hide(core.auth.token),
        tokens: core.auth.tokens.map((one) => ({ ...one, token: REDACTED })),
        oauth: hideOAuth(core.auth.oauth),
        signing_secret: hide(core.auth.signing_secret),
      },
    },
    telemetry: {
      ...telemetry,
      endpoint: hideInUrl(telemetry.endpoint),
      logs_endpoint: hideInUrl(telemetry.logs_endpoint),
      headers: hideAll(telemetry.headers),
      traces: { ...telemetry.traces, endpoint: hideInUrl(telemetry.traces.endpoint) },
    },
    state_persistence: {
      ...state_persistence,
      redis: { ...state_persistence.redis, password: hide(state_persistence.redis.password) },
    },
    servers: servers.map((server) => ({
      ...server,
      auth: { oauth: hideOAuth(server.auth.oauth) },
      upstream: {
        ...server.upstream,
        url: redactUrl(server.upstream.url),
        static_headers: hideAll(server.upstream.static_headers),
      },
    })),
  };
  return scrubbed(redacted, secretsOf(config, env));
}

/** A copy in which no text holds one of the secrets. */
export function scrubbed(value: object, all: readonly string[]): Record<string, unknown> {
  return mapTexts(value, createScrubber(all, MIN_SCRUBBED));
}

/**
 * What takes the secrets of a configuration, in whatever form, out of texts, and nothing that only looks like one.
 * @param minChars of the secrets: shorter ones occur by chance in ordinary text
 */
export const knownSecretsOut = (
  config: AdapterConfig,
  env: Environment,
  minChars: number,
): ((text: string) => string) => createScrubber(secretsOf(config, env).flatMap(secretForms), minChars);

/**
 * Every secret that stands in the configuration, for removal from logs; longest first, so that none is replaced in
 * part. A static header counts when its name or its value looks like a credential.
 */
export function secretsOf(config: AdapterConfig, env: Environment = {}): string[] {
  const { core, telemetry, state_persistence, servers } = config;
  const found = [
    core.auth.token,
    core.auth.signing_secret,
    ...core.auth.tokens.map(({ token }) => token),
    ...[core.auth.oauth, ...servers.map(({ auth }) => auth.oauth)].map(
      (oauth) => oauth?.introspection?.client_secret ?? null,
    ),
    state_persistence.redis.password,
    ...Object.values(telemetry.headers).flatMap(credentials),
    ...[telemetry.endpoint, telemetry.logs_endpoint, telemetry.traces.endpoint].flatMap((url) =>
      url === null ? [] : secretsOfUrl(url),
    ),
    ...servers.flatMap(({ upstream }) => [...secretsOfUrl(upstream.url), ...secretsInHeaders(upstream.static_headers)]),
    ...secretWords(config, env),
  ];
  return longestFirst(found);
}

/** Letters and digits mixed, or an id in hexadecimal. */
const isRandom = (word: string): boolean => hasRandomWord(word, 16) || /^[0-9a-f-]{32,}$/i.test(word);

/**
 * Words in the paths and queries of upstreams' URLs that are credentials: random ones, and values of variables, which
 * is how a Secret gets there. What a server or its mount is called is not.
 */
function secretWords({ servers }: AdapterConfig, env: Environment): string[] {
  const values = new Set(Object.values(env).filter((value = '') => value.length >= MIN_SCRUBBED));
  const names = servers.map(({ id, mount_path: mount }) => `${id} ${mount}`).join(' ');
  return servers
    .flatMap(({ upstream }) => upstream.url.replace(/^[^/]*\/\/[^/?#]*/, '').split(/[/?&=#]/))
    .filter((word) => (isRandom(word) || values.has(decoded(word))) && !names.includes(word))
    .flatMap((word) => [word, decoded(word)]);
}

/** Names of headers that the configuration mentions: their values are credentials, or those of somebody else. */
export function namesOf({ core, telemetry, servers }: AdapterConfig): string[] {
  const found = [
    core.auth.header_name,
    ...Object.keys(telemetry.headers),
    ...servers.flatMap(({ upstream }) => [
      ...Object.keys(upstream.static_headers),
      ...upstream.client_headers.passthrough,
      ...upstream.client_headers.required,
    ]),
  ];
  return [...new Set(found.map((name) => name.toLowerCase()))];
}

/** Variables of the environment that parts of the adapter read by themselves: the SDKs of S3 and OpenTelemetry. */
const SECRET_VARIABLE = /^(AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN|OTEL_EXPORTER_OTLP_([A-Z]+_)?HEADERS)$/;

/** What takes everything secret of a configuration and its environment out of whatever the adapter says. */
export function redactionOf(config: AdapterConfig, env: Environment, places: readonly HiddenPlace[] = []): Redaction {
  const ofVariables = Object.entries(env)
    .filter(([name]) => SECRET_VARIABLE.test(name))
    .flatMap(([name, value = '']) => (name.endsWith('_HEADERS') ? headerValues(value) : [value]));
  return createRedaction({
    secrets: longestFirst([...secretsOf(config, env), ...ofVariables]),
    names: namesOf(config),
    places,
  });
}

/** Of `name=value,name=value`, where values may be written as in a URL (OTel specification, OTLP exporter). */
function headerValues(text: string): string[] {
  const values = text.split(',').map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
  return values.flatMap((value) => [...credentials(value), ...credentials(decoded(value))]);
}

/** Distinct secrets that are not blank, the longest first. */
export function longestFirst(found: readonly (string | null)[]): string[] {
  const secrets = found.filter((secret) => secret !== null).filter((secret) => secret.trim() !== '');
  return [...new Set(secrets)].sort((a, b) => b.length - a.length);
}

/** The secrets in headers that a program sends: those whose name or value looks like a credential. */
export function secretsInHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name, value]) => looksSecret(name) || looksLikeCredential(value))
    .flatMap(([, value]) => credentials(value));
}

const SCHEME = /^(basic|bearer|digest|token|apikey|negotiate)\s+(?<credentials>\S.*)$/i;

/** A value with an authentication scheme, or a long word of letters and digits. */
const looksLikeCredential = (value: string): boolean =>
  SCHEME.test(value) || /^(?=.*\d)(?=.*[A-Za-z])\S{16,}$/.test(value);

/** A header value, what follows its authentication scheme, and the password in it (Basic: RFC 7617). */
export function credentials(value: string): string[] {
  const bare = SCHEME.exec(value)?.groups?.['credentials']?.trim();
  if (bare === undefined) return [value];
  if (!/^basic\s/i.test(value)) return [value, bare];
  const pair = Buffer.from(bare, 'base64').toString('utf8');
  return [value, bare, ...(pair.includes(':') ? [pair.slice(pair.indexOf(':') + 1)] : [])];
}

const hide = (secret: string | null): string | null => (secret === null || secret === '' ? secret : REDACTED);

function hideOAuth(oauth: OAuth | null): OAuth | null {
  if (oauth === null || oauth.introspection === null) return oauth;
  return { ...oauth, introspection: { ...oauth.introspection, client_secret: REDACTED } };
}

const hideAll = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, REDACTED]));

const hideInUrl = (url: string | null): string | null => (url === null ? null : redactUrl(url));

function mapTexts(value: object, change: (text: string) => string): Record<string, unknown> {
  const visit = (node: unknown): unknown => {
    if (node instanceof ExactNumber) return node;
    if (typeof node === 'string') return change(node);
    if (Array.isArray(node)) return node.map(visit);
    return typeof node === 'object' && node !== null ? mapTexts(node, change) : node;
  };
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item)]));
}
