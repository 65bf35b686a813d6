import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import type { FileRulesWatch } from '../file-roles/file-rules-watch.ts';
import { timerMs } from '../../lib/timer-ms.ts';
import { type Catalog, catalog, type OwnTool } from '../catalog/catalog.ts';
import { type CleaningEvents, toolCleaning } from '../catalog/tool-cleaning.ts';
import type { DisabledTools } from '../catalog/disabled-tools.ts';
import { HeaderForwarding, mayForward } from '../exchange/headers.ts';
import type { Refusal } from '../exchange/scanning/refusal.ts';
import type { Redact } from '../../lib/redaction/redact.ts';
import { noTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import type { LockWatch } from '../lock/lock-watch.ts';
import type { ServerToolLock } from '../lock/server-tool-lock.ts';
import { CircuitBreaker } from '../upstream/circuit-breaker.ts';
import { RevisionProbe } from '../upstream/revision-probe.ts';
import type { Caches } from '../caches.ts';
import { ListCache } from '../upstream/list-cache.ts';
import { ObservedUpstream } from '../upstream/observed-upstream.ts';
import { PingLoop } from '../upstream/ping-loop.ts';
import { upstreamRefusal } from '../upstream/upstream-refusal.ts';
import { ProtectedResource } from '../upstream/protected-resource.ts';
import type { Upstream } from '../exchange/upstream.ts';
import { droppedMessages } from './dropped-messages.ts';
import type { OwnResources } from '../lists/own-resources.ts';
import { ServerTexts } from '../lists/server-texts.ts';
import { CallLimits } from '../tools/call-limits.ts';
import { toolTimeouts } from '../tools/settings.ts';
import { ToolInventory } from '../tools/tool-inventory.ts';
import { VisibleCatalog } from '../tools/visible/visible-catalog.ts';
import type { Bridge, Mount } from './mount.ts';
import type { ResultSpilling } from '../spill/result-spilling.ts';
import type { ToolStep } from '../tools/visible/tool-step.ts';

export interface MountOptions {
  readonly server: EffectiveServer;
  /** `disabled_tools`, compiled. */
  readonly disabled: DisabledTools;
  readonly upstream: Upstream;
  /** Puts the bridge between revisions before the upstream; pings and probes go past it. */
  readonly bridge?: ((direct: Upstream, revisions: RevisionProbe) => Bridge) | undefined;
  readonly authHeader: string;
  readonly listTtlMs: number;
  readonly caches: Caches;
  readonly version: string;
  readonly redact: Redact;
  readonly warn: (message: string) => void;
  readonly onPing: (serverId: string, ok: boolean, error: string | null) => void;
  readonly onDrift?: (sessionId: string, preview: string) => void;
  /** Something beside the tools differs from what a client saw first. */
  readonly onTextDrift?: (preview: string) => void;
  readonly onCleaned?: CleaningEvents;
  /** Something of the upstream reaches no client; told once a minute for each reason. */
  readonly onDropped?: (reason: Refusal) => void;
  readonly additions?: MountAdditions;
  /** `artifacts.scope` */
  readonly artifactScope?: Mount['artifactScope'];
  readonly telemetry?: Telemetry;
  /** What a lock says of this server; undefined where there is none. */
  readonly lock?: ServerToolLock | undefined;
  readonly lockWatch?: LockWatch | undefined;
  readonly onListsChanged?: (() => void) | undefined;
  /** Told what the tools of this server are called. */
  readonly onTools?: (names: readonly string[]) => void;
}

/** What the adapter adds to a server. */
export interface MountAdditions {
  readonly steps: ReadonlyMap<string, ToolStep>;
  readonly transforms: Catalog['transforms'];
  readonly dropsSchema?: Catalog['dropsSchema'];
  readonly own: Catalog['own'];
  /** Tools that are listed instead of all others (`code_mode_enabled`). */
  readonly instead?: readonly OwnTool[];
  readonly resources: OwnResources | undefined;
  /** Undefined where results pass whatever their length. */
  readonly spilling?: ResultSpilling | undefined;
  /** What does not fit between the entries of `adapters` and the server; undefined where there are none. */
  readonly fileRules?: FileRulesWatch | undefined;
}

export function createMount(options: MountOptions): Mount {
  const { server, disabled, upstream: direct, caches, additions, telemetry = noTelemetry } = options;
  const { client_headers: clientHeaders } = server.upstream;
  const { tool_metadata_sanitization: sanitization, upstream_ping: policy } = server;
  const { headers, relaysChallenges, refusal } = headersOf(options);
  const observed = (one: Upstream): Upstream =>
    telemetry.isOn
      ? new ObservedUpstream(one, (call) => telemetry.upstreamCall({ serverId: server.id, ...call }))
      : one;
  const revisions = new RevisionProbe(observed(direct), timerMs(policy.timeout_seconds));
  const bridge = options.bridge?.(direct, revisions);
  const upstream = bridge?.upstream ?? direct;
  const breaker = new CircuitBreaker({
    failureThreshold: policy.failure_threshold,
    openCooldownMs: policy.open_cooldown_seconds * 1000,
    halfOpenProbeAllowance: policy.half_open_probe_allowance,
  });
  const callLimits = server.limits.length === 0 ? undefined : new CallLimits(server.id, server.limits);
  callLimits?.listed(additions?.steps.keys() ?? []);
  const reached = { upstream: observed(direct), breaker, headers, refusal };
  return {
    serverId: server.id,
    path: server.mount_path,
    upstream,
    own: observed(upstream),
    headers,
    requiredHeaders: clientHeaders.required.map((name) => name.toLowerCase()),
    breaker,
    callLimits,
    ping: policy.enabled ? pingLoop(options, reached) : undefined,
    refusal,
    revisions,
    bridge,
    lists: new ListCache(options.listTtlMs, caches),
    inventory: new ToolInventory(options.listTtlMs, caches),
    disabled,
    hidesUnseen: sanitization.mode !== 'off' && sanitization.remove_invisible_characters,
    visibleCatalog: visibleCatalogOf(options, callLimits),
    texts: new ServerTexts({
      caches,
      sanitization,
      pinning: server.tool_definition_pinning,
      lock: options.lock,
      onCleaned: options.onCleaned,
      onDrift: options.onTextDrift,
    }),
    steps: additions?.steps ?? new Map<string, never>(),
    resources: additions?.resources,
    artifactScope: options.artifactScope ?? 'session',
    spilling: additions?.spilling,
    fileRules: additions?.fileRules,
    lockWatch: options.lockWatch,
    toolLock: options.lock,
    onListsChanged: options.onListsChanged,
    timeoutOf: toolTimeouts(server),
    hasAccessRules: server.access !== null,
    relaysChallenges,
    protectedResource: relaysChallenges
      ? new ProtectedResource({ url: server.upstream.url, insecureTls: server.upstream.insecure_tls })
      : undefined,
    dropped: droppedMessages({
      count: (reason, messages) => telemetry.dropped({ serverId: server.id, reason, messages }),
      warn: (reason) => options.onDropped?.(reason),
    }),
    redact: options.redact,
  };
}

/** What is sent to the upstream with every request, and how a refusal of it is explained. */
function headersOf({ server, authHeader, version, redact, warn }: MountOptions) {
  const { client_headers: clientHeaders, host_header: hostHeader, static_headers: fixed, url } = server.upstream;
  const credentials = withUrlCredentials(url, fixed);
  const staticHeaders = hostHeader === null ? credentials : { ...credentials, host: hostHeader };
  const passthrough = clientHeaders.passthrough.filter((name) => mayForward(name, authHeader));
  for (const name of clientHeaders.passthrough) {
    if (!passthrough.includes(name)) warn(`client_headers.passthrough: ${name} is never forwarded`);
  }
  const relaysChallenges = passthrough.some((name) => name.toLowerCase() === 'authorization');
  if (relaysChallenges) {
    warn('client_headers.passthrough lists Authorization, so the credentials of clients are sent to this upstream');
  }
  const sent = { host: hostHeader ?? new URL(url).host, headers: Object.keys(credentials) };
  return {
    headers: new HeaderForwarding({ staticHeaders, passthrough, userAgent: `mcp-adapter/${version}` }),
    relaysChallenges,
    refusal: relaysChallenges
      ? undefined
      : (status: number, body: string): string => redact(upstreamRefusal(status, body, sent, redact)),
  };
}

function pingLoop(
  { server, version, onPing, telemetry = noTelemetry }: MountOptions,
  { headers, ...reached }: Pick<Mount, 'upstream' | 'breaker' | 'headers' | 'refusal'>,
): PingLoop {
  const policy = server.upstream_ping;
  return new PingLoop({
    ...reached,
    policy: { intervalMs: timerMs(policy.interval_seconds), timeoutMs: timerMs(policy.timeout_seconds) },
    headers: headers.base('POST', undefined),
    serverId: server.id,
    clientVersion: version,
    onResult: ({ ok, error, seconds, stateBefore, wasReached }) => {
      telemetry.ping({ serverId: server.id, ok, seconds, stateBefore });
      if (!wasReached) telemetry.wiring({ serverId: server.id, result: ok ? 'ready' : 'retry' });
      onPing(server.id, ok, error);
    },
  });
}

/** The server's tools as clients see them. */
function visibleCatalogOf(options: MountOptions, callLimits: CallLimits | undefined): VisibleCatalog {
  const { server, additions, telemetry = noTelemetry } = options;
  const { mode, block_strategy: blockStrategy } = server.tool_definition_pinning;
  return new VisibleCatalog({
    caches: options.caches,
    catalog: catalog({
      disabled: options.disabled,
      clean: toolCleaning(server),
      transforms: additions?.transforms,
      dropsSchema: additions?.dropsSchema,
      own: additions?.own,
      instead: additions?.instead,
    }),
    pinning: server.tool_definition_pinning,
    lock: options.lock,
    blocks: server.tool_metadata_sanitization.mode === 'block',
    ttlMs: options.listTtlMs,
    onCleaned: options.onCleaned,
    onDrift: options.onDrift,
    onDriftSeen: (outcome) => telemetry.drift({ serverId: server.id, mode, blockStrategy, outcome }),
    onTools: onTools(options, callLimits),
  });
}

/** Whoever wants to know what the server lists; undefined for nobody. */
function onTools(
  { onTools, additions }: Pick<MountOptions, 'onTools' | 'additions'>,
  callLimits: CallLimits | undefined,
): ((names: readonly string[], list: string) => void) | undefined {
  const counts = callLimits?.countsTools === true ? callLimits : undefined;
  const rules = additions?.fileRules;
  if (counts === undefined && rules === undefined) return onTools;
  return (names, list) => {
    counts?.listed(names);
    onTools?.(names);
    rules?.listed(list);
  };
}

/** The static headers, with those of a URL such as `https://user:password@host/` (RFC 7617) where none is set. */
function withUrlCredentials(url: string, headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return headers;
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return headers;
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { ...headers, authorization: `Basic ${Buffer.from(pair, 'utf8').toString('base64')}` };
}
