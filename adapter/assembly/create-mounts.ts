import type { ConnectRules } from '../../lib/net/guarded-connect.ts';
import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { BridgedUpstream } from '../bridge/bridged-upstream.ts';
import { CallerSessions } from '../bridge/newer/caller-sessions.ts';
import { NewerClients } from '../bridge/newer/newer-clients.ts';
import { OlderClients } from '../bridge/older/older-clients.ts';
import { type EffectiveServer, effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { throttled } from '../../lib/throttled.ts';
import type { Redact } from '../../lib/redaction/redact.ts';
import type { Caches } from '../caches.ts';
import { type DisabledTools, disabledTools } from '../catalog/disabled-tools.ts';
import type { DefinitionKind } from '../catalog/text-meanings.ts';
import { LockWatch } from '../lock/lock-watch.ts';
import { ServerToolLock } from '../lock/server-tool-lock.ts';
import type { ToolLock } from '../lock/tool-lock.ts';
import { createMount, type MountAdditions, type MountOptions } from '../mount/create-mount.ts';
import { toolEntries } from '../tools/settings.ts';
import type { Mount } from '../mount/mount.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { StateStore } from '../state/state-store.ts';
import { type Logger, shorten } from '../telemetry/logs/logger.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { ToolNames } from '../telemetry/tool-names.ts';
import { LegacySseUpstream } from '../upstream/legacy-sse.ts';
import { StreamableHttpUpstream } from '../upstream/streamable-http.ts';
import type { Upstream } from '../exchange/upstream.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';

export interface MountDeps {
  readonly store: StateStore;
  readonly bus: MessageBus;
  /** Undefined where clients have none: then nothing is bridged. */
  readonly sessions: SessionRegistry | undefined;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  /** Told which names of tools the configuration has and the upstreams list. */
  readonly toolNames: ToolNames;
  readonly listTtlMs: number;
  readonly caches: Caches;
  readonly version: string;
  readonly redact: Redact;
  /** Undefined where nothing is locked. */
  readonly lock: ToolLock | undefined;
  /** Where upstreams may be. */
  readonly rules: ConnectRules;
  /** What the adapter adds to a server. `disabled`: its `disabled_tools`, compiled; `warn` names it. */
  readonly additions: (
    server: EffectiveServer,
    own: { readonly disabled: DisabledTools; readonly warn: (message: string) => void },
  ) => MountAdditions;
}

/** How a log names them. */
const COUNTED: Readonly<Record<DefinitionKind, string>> = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  template: 'resource_templates',
  greeting: 'instructions',
};

/** The mount of each configured server, in the same order, and what is logged of it. */
export function createMounts(config: Pick<AdapterConfig, 'core' | 'servers' | 'artifacts'>, parts: MountDeps): Mount[] {
  return config.servers.map((one) => mountOf(effectiveServer(config, one), config, parts));
}

function mountOf(
  server: EffectiveServer,
  { core, artifacts }: Pick<AdapterConfig, 'core' | 'artifacts'>,
  parts: MountDeps,
): Mount {
  const { caches, logger, telemetry, toolNames, listTtlMs, version, redact } = parts;
  const warn = (message: string): void => logger.warn({ server_id: server.id }, message);
  const upstream = upstreamOf(server, parts, warn);
  const disabled = disabledTools(server.disabled_tools, core.invalid_patterns === 'hide_all');
  const locking = lockingOf(server.id, parts);
  const mount = createMount({
    server,
    ...locking,
    disabled,
    upstream,
    bridge: bridgeOf(server, parts),
    authHeader: core.auth.header_name,
    listTtlMs,
    caches,
    version,
    redact,
    warn,
    telemetry,
    ...(telemetry.isOn && { onTools: (names) => toolNames.listed(server.id, names) }),
    additions: parts.additions(server, { disabled, warn }),
    artifactScope: artifacts.scope,
    onCleaned: ({ tools, first, blocked }, kind) => {
      const attributes = { server_id: server.id, [COUNTED[kind]]: tools, first, blocked };
      if (blocked) logger.warn(attributes, `${COUNTED[kind]} hidden: their text is not fit for a model`);
      else logger.info(attributes, `text of ${COUNTED[kind]} cleaned`);
    },
    onDrift: (sessionId, drift) => {
      const attributes = { server_id: server.id, session: shorten(sessionId), drift };
      logger.warn(attributes, 'tools have changed since the session saw them first');
    },
    onTextDrift: (drift) => {
      logger.warn(
        { server_id: server.id, drift },
        'what the server says to models has changed since a client saw it first',
      );
    },
    onDropped: (reason) => {
      logger.warn({ server_id: server.id, reason }, 'a message of the server was dropped: clients could misread it');
    },
    onPing: (serverId, ok, error) => {
      if (!ok) logger.warn({ server_id: serverId, error: error ?? undefined }, 'upstream ping failed');
    },
  });
  toolNames.configured(server.id, mount.steps.keys());
  toolNames.configured(server.id, toolEntries(server).keys());
  return mount;
}

/** How often replicas hear of it that a server has changed its lists: one that says so all the time is believed that often. */
const TELL_LISTS_MS = 500;

/** What holds one server to the lock. */
function lockingOf(serverId: string, { lock, caches, logger, telemetry, bus }: MountDeps) {
  if (lock === undefined) return {};
  const lockWatch = new LockWatch({
    allowsNew: () => lock.newTools === 'allow',
    onDrift: ({ drift, new: added, removed, more }) => {
      telemetry.lockDrift({ serverId });
      logger.warn(
        { server_id: serverId, mode: lock.mode, drift, new: added, removed, more },
        'the server is not what the tool lock says',
      );
    },
  });
  const publishChange = throttled(TELL_LISTS_MS, () => {
    bus.publish({ type: 'lists-changed', serverId, sessionId: '' }).catch(() => undefined);
  });
  return {
    lock: new ServerToolLock(lock, serverId, { caches, watch: lockWatch }),
    lockWatch,
    onListsChanged: publishChange,
  };
}

/** The bridge between clients and upstreams of other revisions; undefined where it is switched off. */
function bridgeOf({ id: serverId, upstream: settings }: EffectiveServer, parts: MountDeps): MountOptions['bridge'] {
  const { bridge, bridge_sessions: kept } = settings;
  const limits = {
    maxRounds: settings.bridge_max_rounds,
    ttlMs: settings.bridge_question_ttl_seconds * 1000,
  };
  const { bus, caches, redact, listTtlMs, store, sessions, telemetry, logger } = parts;
  if (bridge === 'off' || sessions === undefined) return undefined;
  const counts =
    (direction: 'older_client' | 'newer_client') =>
    (rounds: number): void =>
      telemetry.bridged({ serverId, direction, rounds });
  return (upstream, revisions) => {
    const older = new OlderClients({
      serverId,
      upstream,
      bus,
      caches,
      redact,
      listTtlMs,
      onRounds: counts('older_client'),
      onUnannounced: (changes) => {
        logger.warn(
          { server_id: serverId, changes },
          'the server does not tell of all the changes that it offers to tell of',
        );
      },
      limits,
    });
    const callerSessions =
      kept === 'per_call' ? undefined : new CallerSessions({ serverId, upstream, store, sessions });
    const newer = new NewerClients({
      serverId,
      upstream,
      bus,
      listTtlMs,
      onRounds: counts('newer_client'),
      callerSessions,
      sharesSessions: kept === 'shared',
    });
    return {
      limits,
      upstream: new BridgedUpstream(upstream, revisions, older, newer),
      answer: (exchange, text) => newer.answer(exchange, text),
      abandon: (exchange) => newer.abandon(exchange),
      position: (exchange) => newer.position(exchange),
    };
  };
}

function upstreamOf(
  { upstream }: EffectiveServer,
  { store, bus, rules }: MountDeps,
  warn: (message: string) => void,
): Upstream {
  const { url, transport, insecure_tls: insecureTls } = upstream;
  if (insecureTls) warn('upstream.insecure_tls: the certificate of this upstream is not verified');
  return transport === 'sse'
    ? new LegacySseUpstream({ url, insecureTls, store, bus, rules })
    : new StreamableHttpUpstream({ url, insecureTls, rules });
}
