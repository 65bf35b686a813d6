import type { AccessConfig } from './access.ts';
import type { AdapterConfig, ServerConfig } from './adapter.ts';
import type { CallLimit } from './limits.ts';
import { profileEntries } from './profiles/profiles.ts';
import type { ResultSettings, ServerResults } from './results.ts';
import type {
  OAuth,
  ToolDefinitionPinning,
  ToolDescriptionPolicy,
  ToolMetadataSanitization,
  UpstreamPing,
} from './core.ts';

/**
 * A server with everything that it can inherit resolved: no null means "inherit" any more. Null is left only where it
 * is a value itself: no time limit, no length limit.
 */
export interface EffectiveServer extends Pick<
  ServerConfig,
  'id' | 'mount_path' | 'upstream' | 'disabled_tools' | 'adapters'
> {
  tool_defaults: { tool_call_timeout_seconds: number | null; allow_raw_output: boolean };
  code_mode_enabled: boolean;
  shorten_descriptions: boolean;
  short_description_max_tokens: number;
  tool_description_policy: ToolDescriptionPolicy;
  tool_metadata_sanitization: ToolMetadataSanitization;
  tool_definition_pinning: ToolDefinitionPinning;
  upstream_ping: UpstreamPing;
  /** Of the server, and of its tools by their names or patterns, in the order of the file. */
  results: ResultSettings & { tools: Readonly<Record<string, ResultSettings>> };
  limits: readonly CallLimit[];
  /** Null: no authorization server, or no authentication at all. */
  oauth: OAuth | null;
  /** Null: everybody who comes in may do everything. */
  access: AccessConfig | null;
}

/** Resolves `servers[]` against `core` (adapter specification, section 1, convention 4). */
export function effectiveServer({ core }: Pick<AdapterConfig, 'core'>, server: ServerConfig): EffectiveServer {
  return {
    id: server.id,
    mount_path: server.mount_path,
    upstream: server.upstream,
    disabled_tools: server.disabled_tools,
    adapters: adaptersOf(server),
    tool_defaults: resolve(core.defaults, server.tool_defaults),
    code_mode_enabled: server.code_mode_enabled ?? core.code_mode_enabled,
    shorten_descriptions: server.shorten_descriptions ?? core.shorten_descriptions,
    short_description_max_tokens: server.short_description_max_tokens ?? core.short_description_max_tokens,
    tool_description_policy: resolve(core.tool_description_policy, server.tool_description_policy),
    tool_metadata_sanitization: resolve(core.tool_metadata_sanitization, server.tool_metadata_sanitization),
    tool_definition_pinning: resolve(core.tool_definition_pinning, server.tool_definition_pinning),
    upstream_ping: resolve(core.upstream_ping, server.upstream_ping),
    results: resultsOf(core.results, server.results),
    limits: server.limits ?? core.limits,
    oauth: core.auth.enabled ? (server.auth.oauth ?? core.auth.oauth) : null,
    access: server.access ?? core.access,
  };
}

/** The own entries come first, and so win over those of the profile. */
function adaptersOf({ adapters, profile }: ServerConfig): ServerConfig['adapters'] {
  return profile === null ? adapters : [...adapters, ...profileEntries(profile.name, profile.folder)];
}

function resultsOf(ofCore: ResultSettings, { tools, ...own }: ServerResults): EffectiveServer['results'] {
  const ofServer = resolve(ofCore, own);
  const ofTools = Object.entries(tools).map(([name, settings]) => [name, resolve(ofServer, settings)] as const);
  return { ...ofServer, tools: Object.fromEntries(ofTools) };
}

/** The own values where they are set, the inherited ones elsewhere. */
function resolve<T extends object>(inherited: T, own: { [K in keyof T]: T[K] | null }): T {
  const set = Object.entries(own).filter(([, value]) => value !== null);
  return { ...inherited, ...Object.fromEntries(set) };
}
