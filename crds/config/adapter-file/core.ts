import { z } from 'zod';
import { AccessConfig } from './access.ts';
import { CallLimits } from './limits.ts';
import { ResultSettings } from './results.ts';
import { bytes } from '../values/bytes.ts';
import {
  baseUrlOrNull,
  headerName,
  hostPattern,
  httpMethod,
  httpPath,
  httpUrl,
  ipAddress,
  origin,
  proxyAddress,
} from '../values/network-values.ts';
import {
  flag,
  integer,
  listOf,
  maybeEmpty,
  nonBlank,
  oneOf,
  oneOfAnyCase,
  orNull,
  seconds,
  text,
  trimmed,
  trimmedAnd,
} from '../values/values.ts';

/** Section `core` of the adapter's file. Source: adapter specification, section 2.1. */

export const ToolMetadataSanitization = z.strictObject({
  mode: oneOf(['off', 'sanitize', 'block'])
    .describe(
      'What happens to text that models see: `off` forwards it as it is, `sanitize` cleans it and logs that it did, ' +
        '`block` hides tools whose text would have needed cleaning. Quote `"off"` in Kubernetes manifests.',
    )
    .prefault('sanitize'),
  normalize_unicode: flag().describe('Normalize the text to Unicode NFKC.').prefault(true),
  remove_invisible_characters: flag()
    .describe('Remove zero-width and other invisible formatting characters.')
    .prefault(true),
  max_tool_title_chars: orNull(
    integer({ min: 1 }).describe('Longest tool title that is forwarded, in characters. Null: no limit.'),
  ).prefault(256),
  max_tool_description_chars: orNull(
    integer({ min: 1 }).describe(
      'Longest top-level tool description that is forwarded, in characters. Null: no limit.',
    ),
  ).prefault(2000),
  max_schema_text_chars: orNull(
    integer({ min: 1 }).describe(
      'Longest title or description inside a schema that is forwarded, in characters. Null: no limit.',
    ),
  ).prefault(1000),
});
export type ToolMetadataSanitization = z.output<typeof ToolMetadataSanitization>;

export const ToolDescriptionPolicy = z.strictObject({
  mode: oneOf(['preserve', 'truncate', 'strip'])
    .describe(
      'How much description text is forwarded after sanitization: `preserve` all of it, `truncate` only the first ' +
        'characters, `strip` none.',
    )
    .prefault('preserve'),
  max_tool_description_chars: orNull(
    integer({ min: 1 }).describe('With mode `truncate`: characters kept of a top-level description. Null: all.'),
  ).prefault(280),
  max_schema_description_chars: orNull(
    integer({ min: 1 }).describe('With mode `truncate`: characters kept of a description inside a schema. Null: all.'),
  ).prefault(280),
});
export type ToolDescriptionPolicy = z.output<typeof ToolDescriptionPolicy>;

export const ToolDefinitionPinning = z.strictObject({
  mode: oneOf(['off', 'warn', 'block'])
    .describe(
      'What happens when tools differ from those that the session saw first: `off` compares nothing, `warn` serves ' +
        'the new tools with warnings in their descriptions, `block` acts as `block_strategy` says. ' +
        'Quote `"off"` in Kubernetes manifests.',
    )
    .prefault('warn'),
  block_strategy: oneOf(['error', 'baseline_subset'])
    .describe(
      'With mode `block`: `error` fails the list and calls of drifted tools, `baseline_subset` serves only the tools ' +
        'that are unchanged.',
    )
    .prefault('error'),
  block_error_session_action: oneOf(['keep', 'invalidate'])
    .describe(
      'With strategy `error`: `keep` leaves the session alive, `invalidate` ends it, so that its id is refused until ' +
        'its tombstone expires.',
    )
    .prefault('invalidate'),
  sessionless_ttl_seconds: seconds()
    .describe(
      'How long it is remembered what a client without a session (revision 2026-07-28) saw first, after it asked for it ' +
        'last, in seconds. Such clients are told apart by server, token and forwarded headers.',
    )
    .prefault(86_400),
});
export type ToolDefinitionPinning = z.output<typeof ToolDefinitionPinning>;

const ToolLock = z.strictObject({
  path: trimmed('the path of a file').describe(
    'File with the lock, YAML or JSON. It is looked at every two seconds; one that breaks or vanishes while the adapter ' +
      'runs leaves the last good one in force.',
  ),
});

/** Algorithms of signatures that a public key checks (RFC 7518, RFC 8037, RFC 9864). */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

const Introspection = z.strictObject({
  endpoint: httpUrl().describe('URL that is asked about tokens that are no JWT (RFC 7662).'),
  client_id: nonBlank().describe('With what the adapter authenticates there (HTTP Basic).'),
  client_secret: nonBlank().describe('Its secret.'),
});

export const OAuth = z.strictObject({
  issuer: httpUrl().describe('The authorization server, exactly as its tokens name it (`iss`).'),
  audiences: maybeEmpty(listOf(nonBlank(), 'a list of audiences').prefault([])).describe(
    'A token must be meant for one of these (`aud`). Empty: the URL of the mount, `core.public_base_url` + `mount_path`.',
  ),
  scopes: maybeEmpty(listOf(nonBlank(), 'a list of scopes').prefault([])).describe(
    'Scopes that every token must have; without them 403 `insufficient_scope`.',
  ),
  jwks_uri: orNull(
    httpUrl().describe('Where the keys are. Null: where the issuer says (RFC 8414, then OpenID).'),
  ).prefault(null),
  algorithms: maybeEmpty(listOf(oneOf(ALGORITHMS), 'a list of algorithms').prefault([...ALGORITHMS])).describe(
    'Algorithms of signatures that are accepted.',
  ),
  introspection: Introspection.describe(
    'Where the issuer is asked about tokens that are no JWT. Null: such tokens are refused.',
  )
    .nullable()
    .prefault(null),
});
export type OAuth = z.output<typeof OAuth>;

const NamedToken = z.strictObject({
  name: trimmedAnd('letters, digits and . _ -, at most 64', (name) => /^[A-Za-z0-9._-]{1,64}$/.test(name)).describe(
    'Who has the token: it stands in the audit log, and sessions and files belong to it.',
  ),
  token: text().describe('The secret that this client sends. Compared exactly.'),
});

const Auth = z.strictObject({
  enabled: flag().describe('Require a token on every HTTP request except health checks.').prefault(false),
  header_name: headerName()
    .describe('Header in which clients send the token; its name is compared without regard to case.')
    .prefault('X-Mcp-Adapter-Auth-Token'),
  token: text()
    .describe('The secret that clients send. Compared exactly. With `enabled`, this, `tokens` or `oauth` is required.')
    .nullable()
    .prefault(null),
  tokens: maybeEmpty(z.array(NamedToken, { error: 'a list of tokens with their names' }).prefault([])).describe(
    '(new) More tokens for the same header, each of somebody else, who has sessions and files of their own.',
  ),
  oauth: OAuth.describe('(new) Tokens of an authorization server, in `Authorization: Bearer`. Null: none are accepted.')
    .nullable()
    .prefault(null),
  signed_upload_ttl_seconds: seconds()
    .describe(
      'How long a signed upload URL is valid after it was issued, in seconds. For programs; see `uploads.page_url_ttl_seconds`.',
    )
    .prefault(120),
  signing_secret: nonBlank()
    .describe('Secret that signs upload URLs (HMAC-SHA256, with a key derived from it). Null: `token` signs them.')
    .nullable()
    .prefault(null),
});

const Cors = z.strictObject({
  enabled: flag().describe('Add CORS headers, for browsers that call the adapter directly.').prefault(false),
  allowed_origins: maybeEmpty(listOf(origin()).prefault([])).describe(
    'Origins that browsers may call from. Empty: none. `*`: any.',
  ),
  allowed_methods: maybeEmpty(listOf(httpMethod()).prefault(['POST', 'GET', 'OPTIONS'])).describe(
    'Methods that preflight responses permit.',
  ),
  allowed_headers: maybeEmpty(listOf(headerName()).prefault(['*'])).describe(
    'Request headers that preflight responses permit. `*`: any.',
  ),
  allow_credentials: flag()
    .describe('Let browsers send cookies and credentials. Not together with the origin `*`.')
    .prefault(false),
});

export const ToolDefaults = z.strictObject({
  tool_call_timeout_seconds: orNull(
    seconds().describe('Time limit of a tool call to an upstream, in seconds. Null: no limit.'),
  ).prefault(60),
  allow_raw_output: flag()
    .describe('Put the bytes of captured files (base64) into the tool result as well.')
    .prefault(false),
});

export const UpstreamPing = z.strictObject({
  enabled: flag().describe('Ping upstreams. When false, the circuit breaker stays closed.').prefault(true),
  interval_seconds: seconds().describe('Time between two pings, in seconds.').prefault(15),
  timeout_seconds: seconds().describe('Time after which an unanswered ping has failed, in seconds.').prefault(5),
  failure_threshold: integer({ min: 1 }).describe('Failed pings in a row that open the breaker.').prefault(3),
  open_cooldown_seconds: seconds().describe('Time the breaker stays open before it probes, in seconds.').prefault(30),
  half_open_probe_allowance: integer({ min: 1 })
    .describe('Probes let through in the half-open state; so many successes in a row close the breaker.')
    .prefault(2),
});
export type UpstreamPing = z.output<typeof UpstreamPing>;

/** Fields of `core` that a server can override; null there inherits them. */
export const CatalogDefaults = z.strictObject({
  code_mode_enabled: flag()
    .describe('Show a few tools for discovery and execution instead of the full list of tools.')
    .prefault(false),
  shorten_descriptions: flag()
    .describe(
      'Keep only a short summary of the upstream description on tools that take uploads, before the adapter’s own ' +
        'instructions. When false, the full description is kept.',
    )
    .prefault(false),
  short_description_max_tokens: integer({ min: 1 })
    .describe('Length of that summary in tokens. Only the first sentence is considered.')
    .prefault(16),
});

export const Core = z.strictObject({
  host: ipAddress()
    .describe('IP address to listen on. Also the last resort for building public URLs.')
    .prefault('0.0.0.0'),
  port: integer({ min: 1, max: 65_535 }).describe('TCP port to listen on.').prefault(8932),
  log_level: oneOfAnyCase(['debug', 'info', 'warning', 'error', 'critical'])
    .describe('Least severe level that is logged.')
    .prefault('warning'),
  max_start_wait_seconds: seconds({ orZero: true })
    .describe(
      'Longest wait at start until every upstream answers, in seconds. After it the adapter starts degraded. 0: no wait.',
    )
    .prefault(60),
  cleanup_interval_seconds: orNull(
    seconds().describe('Period of the background removal of expired files and idle sessions, in seconds. Null: never.'),
  ).prefault(60),
  invalid_patterns: oneOf(['warn', 'hide_all', 'fail'])
    .describe(
      'What follows from a regular expression that cannot be compiled (RE2 has no look-ahead, for one): `warn` skips it ' +
        'and says so, `hide_all` also hides all tools of a server in whose `disabled_tools` it stands, `fail` refuses ' +
        'to start. `--check-config` names them in any case.',
    )
    .prefault('warn'),
  public_base_url: baseUrlOrNull()
    .describe(
      'External URL of the adapter, for the URLs it hands out. Null: taken from the request (forwarded headers of a ' +
        'trusted proxy first), then from `host` and `port`.',
    )
    .prefault(null),
  allow_artifacts_download: flag()
    .describe('Serve artifacts over HTTP and put a `download_url` into their metadata.')
    .prefault(false),
  ...CatalogDefaults.shape,
  upload_path: httpPath()
    .describe('Base path of the upload endpoint, not `/`. A leading slash is added, a trailing one removed.')
    .prefault('/upload'),
  upstream_metadata_cache_ttl_seconds: seconds({ orZero: true })
    .describe('How long lists from upstreams (tools, resources, prompts) are cached, in seconds. 0: not at all.')
    .prefault(300),
  trusted_proxies: maybeEmpty(listOf(proxyAddress()).prefault(['loopback', 'linklocal', 'uniquelocal'])).describe(
    '(new) Peers whose `X-Forwarded-*` headers count: IP addresses, networks in CIDR notation, or the words ' +
      '`loopback`, `linklocal`, `uniquelocal`. Empty: nobody.',
  ),
  allowed_hosts: maybeEmpty(listOf(hostPattern(), 'a list of host names').prefault([])).describe(
    '(new) Names in `Host` that are served, on the port of the metrics too: `mcp.example.com`, with a port if only that ' +
      'one is meant, `*.example.com` for all names below one, `*` for any; others get 403. Addresses, `localhost` and ' +
      'the host of `public_base_url` are always served, and `/livez` and `/readyz` under any name. Empty: bound to ' +
      'loopback, these only. Elsewhere mounts and signed URLs answer to any name, but `/healthz` without the token and ' +
      'the metrics only to those, to the machine’s own, to names without a dot, and to names in `.svc`, ' +
      '`.cluster.local`, `.local`, `.internal`, `.localhost`, `.test` and `.home.arpa`, which no web page can have.',
  ),
  max_request_body_bytes: bytes({ min: 1 })
    .describe('(new) Largest body of a request to a mount path. Uploads have a limit of their own.')
    .prefault('16Mi'),
  max_body_bytes_in_flight: orNull(
    bytes({ min: 1 }).describe(
      '(new) Bytes of bodies of all requests to mounts that may be under way at once; beyond it, 503 with `Retry-After`. ' +
        'Null: a quarter of the heap. All that waits (bodies, answers, what clients have not read) may take a quarter of ' +
        'the memory that the process may use: a server half of it, a session or a connection a quarter.',
    ),
  ).prefault(null),
  max_connections: integer({ min: 1 })
    .describe('(new) Connections of clients that are open at once. Beyond it, one that is idle makes room.')
    .prefault(10_000),
  max_connections_per_peer: orNull(
    integer({ min: 1 }).describe(
      '(new) Connections from one address; those of `trusted_proxies` have no limit of their own. Null: no limit.',
    ),
  ).prefault(1000),
  shutdown_grace_seconds: seconds({ orZero: true })
    .describe('(new) How long running calls may go on after SIGTERM, in seconds.')
    .prefault(30),
  tool_metadata_sanitization: maybeEmpty(ToolMetadataSanitization.prefault({})).describe(
    'Cleaning of the text that models see: tool titles, descriptions, and titles and descriptions inside schemas.',
  ),
  tool_description_policy: maybeEmpty(ToolDescriptionPolicy.prefault({})).describe(
    'How much description text is forwarded. Applies after sanitization and before code mode.',
  ),
  tool_definition_pinning: maybeEmpty(ToolDefinitionPinning.prefault({})).describe(
    'Tool definitions are remembered when a session first sees them; this says what a later change leads to.',
  ),
  tool_lock: ToolLock.describe(
    '(new) What tools, prompts, resource templates and instructions of servers were when they were approved: what differs is ' +
      'hidden or marked, as the lock says. The command `lock` writes and compares it. Null: nothing is compared.',
  )
    .nullable()
    .prefault(null),
  auth: maybeEmpty(Auth.prefault({})).describe('Authentication of clients.'),
  access: AccessConfig.describe('(new) Who may do what at all servers. Null: everybody who comes in may do everything.')
    .nullable()
    .prefault(null),
  limits: maybeEmpty(CallLimits.prefault([])).describe(
    '(new) How often tools may be called and how many calls may run, for each server. A call must be within all of them; ' +
      'beyond one, 429 with `Retry-After`.',
  ),
  results: maybeEmpty(ResultSettings.prefault({})).describe(
    '(new) Tool results that are too long for a model: what becomes of them.',
  ),
  cors: maybeEmpty(Cors.prefault({})).describe('Access for browsers from other origins.'),
  defaults: maybeEmpty(ToolDefaults.prefault({})).describe('Settings of tool calls where nothing else is set.'),
  upstream_ping: maybeEmpty(UpstreamPing.prefault({})).describe(
    'Health checks of upstreams and their circuit breaker.',
  ),
});
export type Core = z.output<typeof Core>;
