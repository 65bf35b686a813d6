import { availableParallelism, hostname, totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

import type { FastifyInstance } from 'fastify';

import type { AdapterConfig } from '../crds/config/adapter-file/adapter.ts';
import type { Environment } from '../lib/references/reference.ts';
import type { Redaction } from '../lib/redaction/redact.ts';
import { ignoredVariables } from '../crds/v1alpha1/ignored-variables.ts';
import { watchReferences } from '../lib/references/watch-references.ts';
import type { AdminPort } from '../lib/http/admin-port.ts';
import type { AdminSettings } from '../lib/http/admin-settings.ts';
import { type AccessWarning, accessWarnings } from './access-warnings.ts';
import { accountLimits, ByteAccount } from './byte-account.ts';
import { LimitsHit } from './admin/limits-hit.ts';
import { Caches } from './caches.ts';
import { createSandbox } from './code-mode/sandbox/create-sandbox.ts';
import { clientPort } from './client-port.ts';
import { codeTools } from './code-tools.ts';
import { connectRulesFrom } from '../lib/net/guarded-connect.ts';
import { createMounts } from './create-mounts.ts';
import { drain } from './drain.ts';
import { type AdapterError, knownError } from './errors.ts';
import { KeepAlive } from './exchange/answers/keep-alive.ts';
import { RunningExchanges } from './exchange/running.ts';
import { fileTools } from './file-tools.ts';
import { ClientNotices } from './sessions/client-notices.ts';
import { Gateway } from './gateway/gateway.ts';
import type { Caller } from './path/caller.ts';
import type { CallTool } from './code-mode/nested-call.ts';
import { StreamOrder } from './sessions/stream-order.ts';
import { ToolParameters } from './tools/tool-parameters.ts';
import { ToolOutputs } from './spill/tool-outputs.ts';
import { ToolSchemas } from './tools/visible/tool-schemas.ts';
import type { HealthObject } from './health/health.ts';
import { healthReport } from './health-report.ts';
import { watchLock } from './lock/tool-lock-file.ts';
import type { Mount } from './mount/mount.ts';
import { baseUrl, type Listening } from './http/base-url.ts';
import { HostNames } from './http/host-names.ts';
import { openPort } from './http/open-port.ts';
import { RunningDownloads } from './http/running-downloads.ts';
import { openAdmin } from './open-admin.ts';
import { openIdentity } from './open-identity.ts';
import { openFiles, storesFiles } from './open-files.ts';
import { openSecrets } from './open-secrets.ts';
import { readiness } from './readiness.ts';
import { SessionFiles } from './sessions/session-files.ts';
import { Workspaces } from './sessions/workspaces.ts';
import { SessionRegistry } from './sessions/session-registry.ts';
import { UpstreamSessions } from './sessions/upstream-sessions.ts';
import { observedNonces } from './state/observed-nonces.ts';
import { openStore } from './state/open/open-store.ts';
import type { LogOutput } from './telemetry/logs/log-output.ts';
import type { Logger } from './telemetry/logs/logger.ts';
import { openTelemetry } from './telemetry/open/open-telemetry.ts';
import type { Backend } from './telemetry/telemetry.ts';
import { ToolNames } from './telemetry/tool-names.ts';
import { telemetrySources } from './telemetry-sources.ts';
import { NO_BYTES, Janitor } from './janitor.ts';
import { toleratedPatterns } from './unusable-patterns.ts';
import { UpstreamPings } from './upstream-pings.ts';
import { MAX_ANSWER_BYTES } from './limits.ts';

/** What keeps the state of each `state_persistence.type`. */
const BACKENDS = { memory: 'memory', disk: 'sqlite', redis: 'redis' } as const;

export interface AdapterOptions {
  readonly config: AdapterConfig;
  readonly logger: Logger;
  /** The same that the logger has. */
  readonly redaction: Redaction;
  /** Where the logger writes, for the lines to be exported too. */
  readonly logOutput: LogOutput;
  /** Variables of the environment, for what OpenTelemetry reads there. */
  readonly env: Environment;
  readonly version: string;
  /** Folder with the files of referenced Secrets and ConfigMaps, whose change is shown in the health object. */
  readonly references?: string;
  /** Where who operates the adapter is answered; undefined: nowhere. */
  readonly admin?: AdminSettings | undefined;
  /** How long running calls may go on after `stop`, in milliseconds. */
  readonly shutdownGraceMs: number;
  /** Ends the process at once (`unavailable_policy: exit`); why has been logged. */
  readonly exit: (reason: string) => void;
}

export interface Adapter {
  /** Opens the port. Upstreams are waited for behind it. Returns the URL. When it throws, everything is closed. */
  listen(host: string, port: number): Promise<string>;
  /** Drains: no new sessions, running calls finish within the grace period, streams end, state is flushed. */
  stop(): Promise<void>;
  /** For a process that has to end now: what telemetry still holds goes out, if that is wanted. */
  terminate(): Promise<void>;
  /** Opens files of logs again, for those that have been moved away. */
  reopenLogs(): void;
  health(authenticated: boolean): Promise<HealthObject>;
}

/** Builds the adapter from its configuration: every part is made here and given only what it needs. */
export async function createAdapter(options: AdapterOptions): Promise<Adapter> {
  const { config, logger, version } = options;
  const { core } = config;
  const redact = options.redaction.text;
  const onError = (error: unknown): void => logger.error({ err: error }, 'unexpected failure');
  const known = (error: unknown): AdapterError => knownError(error, onError).saying(redact);

  for (const { path, pattern, message } of toleratedPatterns(config))
    logger.warn({ path, pattern }, `${path} ${message}`);
  const toolNames = new ToolNames(config.servers.map(({ id }) => id));
  /** What has been opened, to be closed in the reverse order: at the end, or at once when the start fails. */
  await using opening = new AsyncDisposableStack();
  let hasFailed = true;
  const observing = await openTelemetry({ ...options, tools: toolNames });
  opening.defer(() => (hasFailed ? observing.terminate() : observing.stop()));
  const { telemetry, tracing } = observing;
  const exit = (reason: string): void => {
    logger.fatal({ reason }, 'the state store is unavailable; unavailable_policy is exit');
    if (!telemetry.isOn) return options.exit(reason);
    void observing.terminate().finally(() => options.exit(reason));
  };

  const memory = {
    memory: Math.min(process.constrainedMemory() || Infinity, totalmem()),
    heap: getHeapStatistics().heap_size_limit,
    largest: Math.max(core.max_request_body_bytes, MAX_ANSWER_BYTES),
    bodies: core.max_body_bytes_in_flight,
  };
  const account = new ByteAccount(accountLimits(memory, config.servers.length));

  const references = options.references === undefined ? undefined : await watchReferences(options.references);
  opening.defer(async () => references?.stop());
  const ignored = options.references === undefined ? [] : await ignoredVariables(options.references, options.env);
  if (ignored.length > 0) {
    logger.warn({ variables: ignored }, 'these variables are code or change trust, so envFrom does not set them');
  }
  const { type: backendType, unavailable_policy: policy } = config.state_persistence;
  const state = await openStore(config, {
    exit,
    name: options.env['MCP_ADAPTER_NAME'],
    account,
    log: (message) => logger.warn(message),
    onTransition: (transition) => telemetry.policyTransition({ ...transition, policy, backend: backendType }),
  });
  opening.defer(() => state.close());
  const { store, bus } = state;
  const onFileError = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  /** Files are neither deleted nor adopted on the word of a store that is down or replaced by memory. */
  const usable = (): boolean => {
    const { unavailable, degradedReason } = state.status();
    return !unavailable && degradedReason === null;
  };
  const opened = storesFiles(config)
    ? await openFiles(config, { store, telemetry, usable, onError: onFileError })
    : undefined;
  opening.defer(async () => opened?.close());

  const limits = new LimitsHit();
  const sessions = new SessionRegistry(
    store,
    {
      maxActive: config.sessions.max_active,
      maxInFlight: config.sessions.max_in_flight_per_session,
      idleTtlMs: config.sessions.idle_ttl_seconds === null ? null : config.sessions.idle_ttl_seconds * 1000,
    },
    limits.counting(telemetry),
  );
  opening.defer(() => sessions.stop());
  const backend = (): Backend => (state.status().fallback ? 'memory' : BACKENDS[backendType]);
  const nonces = observedNonces(store.nonces, telemetry, backend);
  const secrets = await openSecrets(core, store, () => state.status().fallback);
  const { hashes, signing: secret, ownPrincipal: principal } = secrets;
  const notices = new ClientNotices(bus, onError);
  const sessionFiles = new SessionFiles(store, opened?.files ?? NO_BYTES, onError);
  bus.onControl((message) => {
    if (message.type === 'session-ended') opened?.uploads.sessionEnded(message.serverId, message.sessionId);
  });

  const rules = connectRulesFrom(options.env);
  const keepAlive = new KeepAlive();
  opening.defer(() => keepAlive.stop());
  const running = new RunningExchanges();
  const downloads = new RunningDownloads();
  const sandbox = createSandbox(config.sessions.max_in_flight_per_session, {
    cores: availableParallelism(),
    memoryBytes: process.constrainedMemory(),
  });
  opening.defer(() => sandbox.close());

  const stop = new AbortController();
  /** Aborted once the adapter drains. */
  const stopping = stop.signal;
  let app: FastifyInstance | undefined;
  let admin: AdminPort | undefined;
  let hosts: HostNames | undefined;
  let warnings: readonly AccessWarning[] = [];
  let listening: Listening = { host: core.host, port: core.port };

  const reachedBy = (request: Caller['request']): string => {
    // A proxy passes on what it was told.
    const isOurs = hosts?.mayBeCalled(request.host) !== false;
    return baseUrl(core.public_base_url, isOurs ? request : undefined, listening);
  };
  const files = { config, store, nonces, backend, opened, secret, sessions, notices, telemetry };
  const listTtlMs = core.upstream_metadata_cache_ttl_seconds * 1000;
  const schemas = new ToolSchemas();
  const outputs = new ToolOutputs();
  const caches = new Caches();
  opening.defer(() => caches.stop());
  const locked =
    core.tool_lock === null
      ? undefined
      : await watchLock(core.tool_lock.path, {
          onChanged: () => {
            logger.warn('another tool lock is in force');
            for (const { toolLock } of mounts) void toolLock?.recompare();
          },
          onProblem: (problem) =>
            logger.error({ problem }, 'the tool lock cannot be used: the one before stays in force'),
        });
  opening.defer(async () => locked?.stop());
  const mounts: readonly Mount[] = createMounts(config, {
    lock: locked?.lock,
    store,
    bus,
    sessions,
    logger,
    telemetry,
    toolNames,
    listTtlMs,
    caches,
    version,
    redact,
    rules,
    additions: (server, { disabled, warn }) => {
      const url = ({ request }: Caller): string => reachedBy(request);
      const workspaces = new Workspaces({ sessions, sessionFiles, store, refusesSessions: () => refusesSessions() });
      const own = { disabled, schemas, outputs, workspaces, baseUrl: url, warn, known };
      const additions = fileTools(server, { ...files, ...own });
      const callTool: CallTool = (...call) => gateway.memory(server.id).call(...call);
      return codeTools(server, additions, { disabled, caches, sandbox, callTool, logger, telemetry });
    },
  });
  bus.onControl(({ type, serverId }) => {
    if (type !== 'lists-changed') return;
    const mount = mounts.find((one) => one.serverId === serverId);
    mount?.visibleCatalog.forget();
    mount?.inventory.forget();
  });
  opening.defer(async () => {
    await Promise.all(mounts.map(({ upstream }) => upstream.close()));
    await Promise.all(mounts.map(async ({ protectedResource }) => protectedResource?.close()));
  });
  const pings = new UpstreamPings(mounts, {
    maxWaitSeconds: core.max_start_wait_seconds,
    stopping,
    telemetry,
    logger,
  });
  opening.defer(() => pings.stop());
  const janitor = new Janitor({
    config,
    store,
    opened,
    usable,
    clockDiffers: () => state.status().clockDiffers,
    principal,
    logger,
    telemetry,
    version,
    sessionFiles,
    mounts,
  });
  opening.defer(() => janitor.stopCleanup());
  const { refusesSessions, leavesStreams, notReady } = readiness({
    stopping,
    state,
    isShared: backendType === 'redis',
    usable,
    janitor,
  });
  const gateway = new Gateway({
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
    baseUrl: reachedBy,
    stepUp: (serverId, { request }, scope) => identity.stepUp(serverId, request, scope),
    refusesSessions,
    leavesStreams,
    known,
  });

  telemetry.observe(telemetrySources({ mounts, store, running, account }));

  const health = healthReport({
    version,
    servers: config.servers,
    mounts,
    state,
    running,
    janitor,
    pings,
    references,
    issuers: () => identity.issuers(),
    lock: locked?.lock,
    warnings: () => [...warnings.map(({ code }) => code), ...(state.status().clockDiffers ? ['clock_differs'] : [])],
    redact,
  });
  const identity = await openIdentity(config, {
    rules,
    principal: (key) => {
      try {
        return hashes.principal(key);
      } catch (error) {
        throw known(error);
      }
    },
    baseUrl: reachedBy,
    log: (message) => logger.warn(message),
  });
  opening.defer(() => identity.close());

  const listen: Adapter['listen'] = async (host, port) => {
    warnings = accessWarnings(config, host);
    for (const { message } of warnings) logger.warn(message);
    hosts = new HostNames({
      allowed: core.allowed_hosts,
      publicBaseUrl: core.public_base_url,
      boundHost: host,
      machine: hostname(),
    });
    await observing.listen(host, hosts);
    app = clientPort(host, hosts, {
      files,
      identity,
      mounts,
      gateway,
      downloads,
      account,
      baseUrl: reachedBy,
      isDraining: () => stopping.aborted,
      health,
      notReady,
      known,
      logger,
    });
    await janitor.reconcile(stopping);
    const open = await openPort(app, { host, port });
    listening = open.listening;
    if (options.admin !== undefined) {
      const parts = {
        config,
        env: options.env,
        version,
        mounts,
        store,
        bus,
        opened,
        sessionFiles,
        limits,
        health,
        notReady,
      };
      admin = await openAdmin(options.admin, {
        ...parts,
        lock: locked?.lock,
        secret: () => secrets.hashing.value,
        telemetry,
        logger,
        redact,
      });
    }
    pings.start();
    void identity.start();
    return open.url;
  };

  hasFailed = false;
  const toClose = opening.move();
  const closeAll = async (): Promise<void> => {
    stop.abort();
    await janitor.stopReconciling();
    await drain({
      app,
      running,
      uploads: opened?.uploads,
      downloads,
      sandbox,
      endWaits: () => state.endWaits(),
      graceMs: options.shutdownGraceMs,
    });
    await admin?.close();
    await toClose.disposeAsync();
  };
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= closeAll());
  return {
    health,
    terminate: () => observing.terminate(),
    reopenLogs: () => observing.reopenFiles(),
    async listen(host, port) {
      try {
        return await listen(host, port);
      } catch (error) {
        logger.fatal({ err: error }, 'the adapter cannot start');
        hasFailed = true;
        await close();
        throw error;
      }
    },
    stop: close,
  };
}
