import { availableParallelism } from 'node:os';

import { Caches } from '../caches.ts';
import type { CallTool } from '../code-mode/nested-call.ts';
import { createSandbox } from '../code-mode/sandbox/create-sandbox.ts';
import type { Sandbox } from '../code-mode/sandbox/sandbox.ts';
import { codeTools } from './code-tools.ts';
import { createMounts, type MountDeps } from './create-mounts.ts';
import { KeepAlive } from '../exchange/answers/keep-alive.ts';
import { RunningExchanges } from '../exchange/running.ts';
import type { Exposure } from './exposure.ts';
import type { FileDeps } from './file-deps.ts';
import { fileTools } from './file-tools.ts';
import type { AdapterOptions, Foundation } from './foundation.ts';
import { Gateway } from '../gateway/gateway.ts';
import { healthReport } from './health-report.ts';
import { Janitor } from './janitor.ts';
import { watchLock } from '../lock/tool-lock-file.ts';
import type { Mount } from '../mount/mount.ts';
import { openIdentity, type OpenedIdentity } from './open-identity.ts';
import type { Caller } from '../path/caller.ts';
import { type Readiness, readiness } from './readiness.ts';
import { StreamOrder } from '../sessions/stream-order.ts';
import { UpstreamSessions } from '../sessions/upstream-sessions.ts';
import { Workspaces } from '../sessions/workspaces.ts';
import { ToolOutputs } from '../spill/tool-outputs.ts';
import type { ToolNames } from '../telemetry/tool-names.ts';
import { telemetrySources } from './telemetry-sources.ts';
import { ToolParameters } from '../tools/tool-parameters.ts';
import { ToolSchemas } from '../tools/visible/tool-schemas.ts';
import { UpstreamPings } from './upstream-pings.ts';

export interface ServingDeps {
  readonly foundation: Foundation;
  readonly exposure: Exposure;
  readonly toolNames: ToolNames;
  /** Aborted once the adapter drains. */
  readonly stopping: AbortSignal;
  /** Closes what is opened here. */
  readonly opening: AsyncDisposableStack;
}

export type Serving = Awaited<ReturnType<typeof openServing>>;

/** What clients are served with: the mounts, the gateway before them, who may come in, and what keeps them in order. */
export async function openServing(options: AdapterOptions, deps: ServingDeps) {
  const { config, logger, version } = options;
  const { foundation, exposure, stopping, opening } = deps;
  const { store, state, account, opened, telemetry, usable, sessionFiles, secrets } = foundation;
  const keepAlive = new KeepAlive();
  opening.defer(() => keepAlive.stop());
  const running = new RunningExchanges();
  const sandbox = createSandbox(config.sessions.max_in_flight_per_session, {
    cores: availableParallelism(),
    memoryBytes: process.constrainedMemory(),
  });
  opening.defer(() => sandbox.close());
  const caches = new Caches();
  opening.defer(() => caches.stop());
  const identity = await identityOf(options, deps);
  opening.defer(() => identity.close());
  const locked = await watchedLock(options, () => mounts);
  opening.defer(async () => locked?.stop());
  const files: FileDeps = { ...foundation, config, secret: secrets.signing };

  const mounts = mountsOf(options, deps, {
    files,
    caches,
    lock: locked?.lock,
    sandbox,
    gateway: () => gateway,
    refusesSessions: () => ready.refusesSessions(),
  });
  opening.defer(async () => {
    await Promise.all(mounts.map(({ upstream }) => upstream.close()));
    await Promise.all(mounts.map(async ({ protectedResource }) => protectedResource?.close()));
  });
  const maxWaitSeconds = config.core.max_start_wait_seconds;
  const pings = new UpstreamPings(mounts, { maxWaitSeconds, stopping, telemetry, logger });
  opening.defer(() => pings.stop());
  const clockDiffers = (): boolean => state.status().clockDiffers;
  const kept = { config, store, opened, usable, clockDiffers, principal: secrets.ownPrincipal, sessionFiles, mounts };
  const janitor = new Janitor({ ...kept, logger, telemetry, version });
  opening.defer(() => janitor.stopCleanup());
  const isShared = config.state_persistence.type === 'redis';
  const ready = readiness({ stopping, state, isShared, usable, janitor });
  const gateway = gatewayOf(options, deps, { running, keepAlive, identity, ready });

  telemetry.observe(telemetrySources({ mounts, store, running, account }));
  const health = healthReport({
    version,
    servers: config.servers,
    mounts,
    state,
    running,
    janitor,
    pings,
    references: foundation.references,
    issuers: () => identity.issuers(),
    lock: locked?.lock,
    warnings: () => [...exposure.warnings.map(({ code }) => code), ...(clockDiffers() ? ['clock_differs'] : [])],
    redact: options.redaction.text,
  });
  const notReady = ready.notReady;
  return { files, running, sandbox, identity, lock: locked?.lock, mounts, pings, janitor, gateway, health, notReady };
}

/** Who may come in. */
function identityOf({ config, logger }: AdapterOptions, { foundation, exposure }: ServingDeps) {
  const { secrets, known } = foundation;
  return openIdentity(config, {
    rules: foundation.rules,
    principal: (key) => {
      try {
        return secrets.hashes.principal(key);
      } catch (error) {
        throw known(error);
      }
    },
    baseUrl: exposure.baseUrl,
    log: (message) => logger.warn(message),
  });
}

/** The lock on the tools of all servers; undefined where nothing is locked. */
async function watchedLock({ config, logger }: AdapterOptions, mounts: () => readonly Mount[]) {
  const { tool_lock: toolLock } = config.core;
  if (toolLock === null) return undefined;
  return watchLock(toolLock.path, {
    onChanged() {
      logger.warn('another tool lock is in force');
      for (const mount of mounts()) void mount.toolLock?.recompare();
    },
    onProblem: (problem) => logger.error({ problem }, 'the tool lock cannot be used: the one before stays in force'),
  });
}

interface MountsParts extends Pick<MountDeps, 'lock' | 'caches'> {
  readonly files: FileDeps;
  readonly sandbox: Sandbox;
  /** It knows the mounts, and they call tools by it. */
  readonly gateway: () => Gateway;
  readonly refusesSessions: Readiness['refusesSessions'];
}

/** The mounts, which forget their lists when another replica hears that they have changed. */
function mountsOf(options: AdapterOptions, deps: ServingDeps, parts: MountsParts): readonly Mount[] {
  const { config, logger, version } = options;
  const { foundation, exposure, toolNames } = deps;
  const { files, caches, lock, sandbox, refusesSessions } = parts;
  const { store, bus, sessions, sessionFiles, telemetry, known } = foundation;
  const schemas = new ToolSchemas();
  const outputs = new ToolOutputs();
  const workspaces = new Workspaces({ sessions, sessionFiles, store, refusesSessions });
  const baseUrl = ({ request }: Caller): string => exposure.baseUrl(request);
  const mounts = createMounts(config, {
    lock,
    store,
    bus,
    sessions,
    logger,
    telemetry,
    toolNames,
    listTtlMs: config.core.upstream_metadata_cache_ttl_seconds * 1000,
    caches,
    version,
    redact: options.redaction.text,
    rules: foundation.rules,
    additions: (server, { disabled, warn }) => {
      const additions = fileTools(server, { ...files, disabled, schemas, outputs, workspaces, baseUrl, warn, known });
      const callTool: CallTool = (...call) =>
        parts
          .gateway()
          .memory(server.id)
          .call(...call);
      return codeTools(server, additions, { disabled, caches, sandbox, callTool, logger, telemetry });
    },
  });
  bus.onControl(({ type, serverId }) => {
    if (type !== 'lists-changed') return;
    const mount = mounts.find((one) => one.serverId === serverId);
    mount?.visibleCatalog.forget();
    mount?.inventory.forget();
  });
  return mounts;
}

interface GatewayParts {
  readonly running: RunningExchanges;
  readonly keepAlive: KeepAlive;
  readonly identity: OpenedIdentity;
  readonly ready: Readiness;
}

function gatewayOf({ config }: AdapterOptions, { foundation, exposure }: ServingDeps, parts: GatewayParts): Gateway {
  const { store, bus, sessions, sessionFiles, telemetry, tracing, secrets, known } = foundation;
  const { running, keepAlive, identity, ready } = parts;
  return new Gateway({
    store,
    bus,
    sessions,
    sessionFiles,
    upstreamSessions: new UpstreamSessions(store),
    streamOrder: new StreamOrder(bus, () => store.now()),
    running,
    keepAlive,
    toolParameters: new ToolParameters(),
    telemetry,
    notes: telemetry.isOn,
    hashArguments: config.telemetry.audit_log.enabled ? secrets.ofArguments : undefined,
    tracing,
    tombstoneTtlMs: config.sessions.tombstone_ttl_seconds * 1000,
    terminationRetries: config.sessions.upstream_session_termination_retries,
    baseUrl: exposure.baseUrl,
    stepUp: (serverId, { request }, scope) => identity.stepUp(serverId, request, scope),
    refusesSessions: ready.refusesSessions,
    leavesStreams: ready.leavesStreams,
    known,
  });
}
