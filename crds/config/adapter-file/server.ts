import { z } from 'zod';
import { AccessConfig } from './access.ts';
import { AdapterEntry } from './entry.ts';
import {
  CatalogDefaults,
  OAuth,
  ToolDefaults,
  ToolDefinitionPinning,
  ToolDescriptionPolicy,
  ToolMetadataSanitization,
  UpstreamPing,
} from './core.ts';
import { inherit } from './inherit.ts';
import { CallLimits } from './limits.ts';
import { ServerResults } from './results.ts';
import { ServerProfile } from './server-profile.ts';
import { headerMap, headerName, httpPath, httpUrl } from '../values/network-values.ts';
import { flag, integer, listOf, maybeEmpty, oneOf, text, trimmedAnd } from '../values/values.ts';

/** An entry of `servers`: one upstream MCP server. Source: adapter specification, section 2.8. */

const ClientHeaders = z.strictObject({
  required: maybeEmpty(listOf(headerName(), 'a list of header names').prefault([])).describe(
    'Headers that clients must send with every request; a request without one is answered with 400.',
  ),
  passthrough: maybeEmpty(listOf(headerName(), 'a list of header names').prefault([])).describe(
    'Headers of clients that are sent on to the upstream. No other header is.',
  ),
  unsafe: flag()
    .describe(
      '(new) Must be true for `passthrough` to list `Authorization`: the upstream then gets what clients prove ' +
        'themselves with, and could use it elsewhere.',
    )
    .prefault(false),
});

const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

const Upstream = z.strictObject({
  transport: oneOf(['streamable_http', 'sse'])
    .describe('MCP transport of the upstream: `streamable_http`, or the older `sse`.')
    .prefault('streamable_http'),
  url: httpUrl().describe('URL of the MCP endpoint; for `sse`, of the event stream.'),
  host_header: trimmedAnd('a host name, with a port if it has one', (host) => HOST.test(host))
    .describe(
      '(new) Sent as `Host` in place of the host of `url`, for a server that serves only names that it knows. Null: that host.',
    )
    .nullable()
    .prefault(null),
  bridge: oneOf(['auto', 'off'])
    .describe(
      '(new) What clients get whose protocol revision the upstream does not speak: `auto`: their messages are translated, ' +
        'in both directions; `off`: the refusal of the upstream.',
    )
    .prefault('auto'),
  bridge_sessions: oneOf(['per_call', 'per_caller', 'shared'])
    .describe(
      '(new) Sessions that clients without sessions get at an upstream that wants one: `per_call`: each call its own; ' +
        '`per_caller`: each caller keeps one, for servers that remember something, which needs authentication; `shared`: ' +
        'all callers have the same.',
    )
    .prefault('per_call'),
  bridge_question_ttl_seconds: integer({ min: 1, max: 600 })
    .describe(
      '(new) How long a call between two revisions waits for the answers to questions of the upstream, in seconds.',
    )
    .prefault(600),
  bridge_max_rounds: integer({ min: 1, max: 100 })
    .describe('(new) Rounds of questions after which such a call fails.')
    .prefault(8),
  insecure_tls: flag().describe('Do not verify the certificate of the upstream.').prefault(false),
  static_headers: maybeEmpty(headerMap().prefault({})).describe('Headers added to every request to the upstream.'),
  client_headers: maybeEmpty(ClientHeaders.prefault({})).describe('Headers that clients send.'),
});

/** An id becomes part of URLs, of tool names and of keys. */
const isServerId = (id: string): boolean => !/[/\\?#%\p{Cc}]/u.test(id) && !/^\.{1,2}$/.test(id);

const ServerAuth = z.strictObject({
  oauth: OAuth.describe('(new) The authorization server of this server’s clients. Null inherits `core.auth.oauth`.')
    .nullable()
    .prefault(null),
});

export const ServerConfig = z.strictObject({
  id: trimmedAnd('a non-blank identifier without / \\ ? # % and control characters', isServerId).describe(
    'Unique name of the server, used in upload paths, tool names, health, logs and messages.',
  ),
  mount_path: httpPath().describe(
    'Path at which clients reach the server; unique, not `/`, and not below or above `core.upload_path`, the health ' +
      'checks and, with downloads, `/artifacts`. A leading slash is added, a trailing one removed.',
  ),
  upstream: Upstream.describe('The MCP server behind the adapter.'),
  auth: maybeEmpty(ServerAuth.prefault({})).describe('(new) Authentication of this server’s clients.'),
  access: AccessConfig.describe('(new) Who may do what at this server, in place of `core.access`. Null inherits that.')
    .nullable()
    .prefault(null),
  limits: CallLimits.nullable()
    .describe(
      '(new) How much calls to this server may be, in place of `core.limits`. Null inherits that; `[]`: no limits.',
    )
    .prefault(null),
  results: maybeEmpty(ServerResults.prefault({})).describe(
    '(new) Results of this server’s tools that are too long for a model: what becomes of them.',
  ),
  tool_defaults: maybeEmpty(inherit(ToolDefaults, 'core.defaults').prefault({})).describe(
    'Settings of calls to the tools of this server.',
  ),
  ...inherit(CatalogDefaults, 'core').shape,
  tool_description_policy: maybeEmpty(
    inherit(ToolDescriptionPolicy, 'core.tool_description_policy').prefault({}),
  ).describe('How much description text of this server is forwarded.'),
  tool_metadata_sanitization: maybeEmpty(
    inherit(ToolMetadataSanitization, 'core.tool_metadata_sanitization').prefault({}),
  ).describe('Cleaning of the text that models see from this server.'),
  tool_definition_pinning: maybeEmpty(
    inherit(ToolDefinitionPinning, 'core.tool_definition_pinning').prefault({}),
  ).describe('What a change of this server’s tools within a session leads to.'),
  disabled_tools: maybeEmpty(
    listOf(text('the name of a tool or a regular expression'), 'a list of tool names and regular expressions').prefault(
      [],
    ),
  ).describe(
    'Tools that are hidden: exact names, or regular expressions that match the whole name. An invalid expression is ' +
      'skipped with a warning. `<server_id>_get_upload_url` can be hidden too. A `ui://` resource that only hidden tools ' +
      'name is neither listed nor read.',
  ),
  upstream_ping: maybeEmpty(inherit(UpstreamPing, 'core.upstream_ping').prefault({})).describe(
    'Health checks of this upstream and its circuit breaker.',
  ),
  profile: ServerProfile,
  adapters: maybeEmpty(z.array(AdapterEntry, { error: 'a list of adapter entries' }).prefault([])).describe(
    'What is done to calls of tools that take or produce files.',
  ),
});
export type ServerConfig = z.output<typeof ServerConfig>;
