import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

import type { AdapterConfig } from '../crds/config/adapter.ts';
import { type EffectiveServer, effectiveServer } from '../crds/config/effective-server.ts';
import type { Environment } from '../crds/config/reference.ts';
import type { Redaction } from '../crds/config/redact.ts';
import { redactUrl } from '../crds/config/redact-url.ts';
import { timerMs } from '../crds/config/timer-ms.ts';
import { watchReferences } from '../crds/runtime/references.ts';
import { type DisabledTools, disabledTools } from './catalog/disabled-tools.ts';
import { runsOfMachine } from './code-mode/runs-of-machine.ts';
import { SANDBOX_LIMITS } from './code-mode/sandbox-limits.ts';
import { Sandbox } from './code-mode/sandbox.ts';
import { type AdapterError, knownError } from './errors.ts';
import { KeepAlive } from './exchange/keep-alive.ts';
import { RunningExchanges } from './exchange/running.ts';
import { fileRoutes } from './file-routes.ts';
import { fileTools } from './file-tools.ts';
import type { ReconciliationAtStart } from './files/reconcile-at-start.ts';
import { ClientNotices } from './gateway/client-notices.ts';
import { createMount, type MountAdditions } from './gateway/create-mount.ts';
import { Gateway } from './gateway/gateway.ts';
import { withCodeMode } from './gateway/code-mode.ts';
import { mayEndUpstream } from './gateway/session-upstream.ts';
import { toolEntries } from './gateway/settings.ts';
import { ToolParameters } from './gateway/tool-parameters.ts';
import { ToolSchemas } from './gateway/tool-schemas.ts';
import type { Mount } from './gateway/turn.ts';
import {
  healthObject,
  publicHealth,
  serverHealth,
  unreachedServers,
  type HealthObject,
  type StartupHealth,
} from './health.ts';
import { tokenAuthentication } from './http/auth.ts';
import { baseUrl, type Listening } from './http/base-url.ts';
import { healthRoute } from './http/health-route.ts';
import { mcpRoute } from './http/mcp-route.ts';
import { OriginPolicy } from './http/origin.ts';
import { RunningDownloads } from './http/running-downloads.ts';
import { clientsGone, closeServer, createServer } from './http/server.ts';
import { openFiles, storesFiles } from './open-files.ts';
import { CleanupLoop } from './sessions/cleanup-loop.ts';
import { SessionFiles } from './sessions/session-files.ts';
import { SessionRegistry } from './sessions/session-registry.ts';
import { UpstreamSessions } from './sessions/upstream-sessions.ts';
import { SigningSecret } from './signing-secret.ts';
import { observedNonces } from './state/observed-nonces.ts';
import { openStore } from './state/open-store.ts';
import type { LogOutput } from './telemetry/log-output.ts';
import { type Logger, shorten } from './telemetry/logger.ts';
import { openTelemetry } from './telemetry/open-telemetry.ts';
import type { Backend } from './telemetry/telemetry.ts';
import { ToolNames } from './telemetry/tool-names.ts';
import { telemetrySources } from './telemetry-sources.ts';
import { LegacySseUpstream } from './upstream/legacy-sse.ts';
import { startupWait } from './upstream/startup-wait.ts';
import { StreamableHttpUpstream } from './upstream/streamable-http.ts';
import { cleanupPass, NO_BYTES, reconcileAtStart } from './upkeep.ts';

/**
 * How long answers that are under way may take to leave at the end. Longer than the state store may take to give a
 * call's place back, which comes before the last byte.
 */
const FLUSH_MS = 3_000;
/**
 * How long clients that keep idle connections have to use them once more and be told that they are at their end, or to
 * close them: longer than the 5 s that they were told to keep them.
 */
const LEAVE_MS = 6_000;
/** How long an upstream may take to end a session that has expired. */
const END_SESSION_MS = 2_000;
/** Of a name that code calls, as of one that a client calls. */
const MAX_LOGGED_CHARS = 200;
/** How long opening the port waits for whether files have to be looked for; after that, new sessions wait for it. */
const DECIDE_MS = 2_000;

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
  /** How long running calls may go on after `stop`, in milliseconds. */
  readonly shutdownGraceMs: number;
  /** Ends the process at once (`unavailable_policy: exit`); why has been logged. */
  readonly exit: (reason: string) => void;
}

export interface Adapter {
  /** Opens the port. Upstreams are waited for behind it. Returns the URL. */
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
  let draining = false;
  const toolNames = new ToolNames(config.servers.map(({ id }) => id));
  const observing = await openTelemetry({ ...options, tools: toolNames });
  const { telemetry, tracing } = observing;
  const exit = (reason: string): void => {
    logger.fatal({ reason }, 'the state store is unavailable; unavailable_policy is exit');
    if (!telemetry.isOn) return options.exit(reason);
    void observing.terminate().finally(() => options.exit(reason));
  };

  const references = options.references === undefined ? undefined : await watchReferences(options.references);
  const { type: backendType, unavailable_policy: policy } = config.state_persistence;
  const state = await openStore(config, {
    exit,
    log: (message) => logger.warn(message),
    onTransition: (transition) => telemetry.policyTransition({ ...transition, policy, backend: backendType }),
  }).catch(async (error: unknown) => {
    await references?.stop();
    await observing.terminate();
    throw error;
  });
  const { store, bus } = state;
  const isShared = config.state_persistence.type === 'redis';
  const sessions = new SessionRegistry(
    store,
    {
      maxActive: config.sessions.max_active,
      maxInFlight: config.sessions.max_in_flight_per_session,
      idleTtlMs: config.sessions.idle_ttl_seconds === null ? null : config.sessions.idle_ttl_seconds * 1000,
    },
    telemetry,
  );
  const backend = (): Backend => (state.status().fallback ? 'memory' : BACKENDS[backendType]);
  const nonces = observedNonces(store.nonces, telemetry, backend);
  const known = (error: unknown): AdapterError => knownError(error, onError).saying(redact);
  const onFileError = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  /** Files are neither deleted nor adopted on the word of a store that is down or replaced by memory. */
  const usable = (): boolean => {
    const { unavailable, degradedReason } = state.status();
    return !unavailable && degradedReason === null;
  };
  const opened = storesFiles(config)
    ? await openFiles(config, { store, telemetry, usable, onError: onFileError }).catch(async (error: unknown) => {
        await state.close();
        await references?.stop();
        await observing.terminate();
        throw error;
      })
    : undefined;
  const { auth } = core;
  const secret = new SigningSecret(
    auth.enabled ? (auth.signing_secret ?? auth.token) : null,
    () => store.secret('signing'),
    () => state.status().fallback,
  );
  await secret.load();
  const notices = new ClientNotices(bus, onError);
  const sessionFiles = new SessionFiles(store, opened?.files ?? NO_BYTES, onError);
  bus.onControl((message) => {
    if (message.type === 'session-ended') opened?.uploads.sessionEnded(message.serverId, message.sessionId);
  });
  let listening: Listening = { host: core.host, port: core.port };

  const keepAlive = new KeepAlive();
  const running = new RunningExchanges();
  const downloads = new RunningDownloads();
  const listTtlMs = core.upstream_metadata_cache_ttl_seconds * 1000;

  const schemas = new ToolSchemas(listTtlMs);
  const { parallelCalls } = SANDBOX_LIMITS;
  const sandbox = new Sandbox({
    // Calls that are more than a session may have at a time wait for each other and do not fail.
    limits: {
      ...SANDBOX_LIMITS,
      parallelCalls: Math.min(parallelCalls, config.sessions.max_in_flight_per_session ?? parallelCalls),
    },
    maxRunning: runsOfMachine(
      { cores: availableParallelism(), memoryBytes: process.constrainedMemory() },
      SANDBOX_LIMITS,
    ),
  });
  const withTools = (server: EffectiveServer, disabled: DisabledTools, additions: MountAdditions): MountAdditions => {
    if (!server.code_mode_enabled) return additions;
    return withCodeMode(server, additions, {
      disabled,
      sandbox,
      bus,
      post: (...call) => gateway.post(...call),
      onCall: ({ requestId, serverId, sessionId, tool, outcome, ms, ...ended }) => {
        const facts = {
          request_id: requestId,
          trace_id: ended.facts.trace?.traceId,
          span_id: ended.facts.trace?.spanId,
          server_id: serverId,
          session: sessionId === undefined ? undefined : shorten(sessionId),
          tool: tool.slice(0, MAX_LOGGED_CHARS),
          outcome,
          ms: Math.round(ms * 100) / 100,
        };
        logger.info(facts, 'call by code');
        telemetry.nestedCall({ ...ended, seconds: ms / 1000, parentRequestId: requestId });
      },
    });
  };
  const servers = config.servers.map((server) => effectiveServer(config, server));
  const mounts: Mount[] = servers.map((server) => {
    const { url, transport, insecure_tls: insecureTls } = server.upstream;
    const warn = (message: string): void => logger.warn({ server_id: server.id }, message);
    if (insecureTls) warn('upstream.insecure_tls: the certificate of this upstream is not verified');
    const upstream =
      transport === 'sse'
        ? new LegacySseUpstream({ url, insecureTls, store, bus })
        : new StreamableHttpUpstream({ url, insecureTls });
    const disabled = disabledTools(server.disabled_tools);
    return createMount({
      server,
      disabled,
      upstream,
      authHeader: core.auth.header_name,
      listTtlMs,
      version,
      redact,
      warn,
      telemetry,
      ...(telemetry.isOn && { onTools: (names) => toolNames.listed(server.id, names) }),
      additions: withTools(
        server,
        disabled,
        fileTools(server, {
          disabled,
          config,
          store,
          nonces,
          onIssue: (serverId, result) =>
            telemetry.credential({ serverId, operation: 'issue', result, backend: backend() }),
          opened,
          secret,
          sessions,
          telemetry,
          schemas,
          notices,
          baseUrl: ({ request }) => baseUrl(core.public_base_url, request, listening),
          warn,
        }),
      ),
      onCleaned: ({ tools, first, blocked }) => {
        const facts = { server_id: server.id, tools, first, blocked };
        if (blocked) logger.warn(facts, 'tools hidden: their text is not fit for a model');
        else logger.info(facts, 'text of tools cleaned');
      },
      onDrift: (sessionId, drift) => {
        const facts = { server_id: server.id, session: shorten(sessionId), drift };
        logger.warn(facts, 'tools have changed since the session saw them first');
      },
      onPing: (serverId, ok, error) => {
        if (!ok) logger.warn({ server_id: serverId, error: error ?? undefined }, 'upstream ping failed');
      },
    });
  });
  for (const [i, { serverId, steps }] of mounts.entries()) {
    toolNames.configured(serverId, steps.keys());
    const server = servers[i];
    if (server !== undefined) toolNames.configured(serverId, toolEntries(server).keys());
  }
  const gateway = new Gateway({
    store,
    bus,
    sessions,
    sessionFiles,
    upstreamSessions: new UpstreamSessions(store),
    running,
    keepAlive,
    toolParameters: new ToolParameters(listTtlMs),
    telemetry,
    hashesArguments: config.telemetry.audit_log.enabled,
    tracing,
    tombstoneTtlMs: config.sessions.tombstone_ttl_seconds * 1000,
    terminationRetries: config.sessions.upstream_session_termination_retries,
    // Where the others have it too, a client need not be sent to them: its connection may lead here for a while yet.
    refusesSessions: () => {
      // They would make a store that lost its state look like one that still has it.
      if (reconciliation?.decided === false && usable()) return 'reconciling';
      return draining && !(isShared && state.status().degradedReason === null) ? 'draining' : undefined;
    },
    known,
  });

  telemetry.observe(telemetrySources({ mounts, store, running }));

  const authenticate = tokenAuthentication(core.auth);
  const mountPaths = new Set(mounts.map((mount) => mount.path));
  const serverOptions = {
    authenticate,
    authHeader: core.auth.header_name,
    trustedProxies: core.trusted_proxies,
    maxBodyBytes: core.max_request_body_bytes,
    isDraining: () => draining,
    isMount: (path: string) => mountPaths.has(path),
    logger,
    telemetry,
  };

  const upkeep = { config, store, opened, usable, logger };
  let reconciliation: ReconciliationAtStart | undefined;
  const pass = cleanupPass(upkeep, {
    sessionFiles,
    telemetry,
    mayRemoveOrphans: () => reconciliation?.settled === true,
    endUpstream: async (record) => {
      const mount = mounts.find(({ serverId }) => serverId === record.serverId);
      if (mount === undefined || !mayEndUpstream(mount)) return;
      await mount.upstream.endSession(record, mount.headers.base('DELETE', undefined), END_SESSION_MS);
    },
  });

  let startup: StartupHealth | undefined;
  const health = async (authenticated: boolean): Promise<HealthObject> => {
    const now = Date.now();
    const status = state.status();
    const counts = await store.counts(now).catch(() => undefined);
    const totals = await store.files.totals().catch(() => undefined);
    // Without a limit or an idle time no call is counted in the store; then this replica's own count is said.
    const inventory =
      counts === undefined ? undefined : { ...counts, inFlight: Math.max(counts.inFlight, running.posts) };
    const full = healthObject({
      version,
      servers: mounts.map((mount, i) => {
        const server = serverHealth(mount, redactUrl(servers[i]?.upstream.url ?? ''), now);
        return server;
      }),
      persistence: { degradedReason: status.degradedReason, object: status.object },
      inventory,
      files: totals,
      cleanup: pass.last,
      startup,
      reconciliation: reconciliation?.result,
      references: references === undefined ? undefined : { changed: references.changed() },
      unreached: unreachedServers(mounts),
    });
    const shown = authenticated ? full : publicHealth(full);
    // Text by text: in the JSON of the whole, the name of a server could look like that of a credential.
    const safe: HealthObject = JSON.parse(JSON.stringify(shown), (_name, value: unknown) =>
      typeof value === 'string' ? redact(value) : value,
    );
    return safe;
  };

  const cleanup =
    core.cleanup_interval_seconds === null
      ? undefined
      : new CleanupLoop(
          (signal) => pass.run(signal),
          timerMs(core.cleanup_interval_seconds),
          (error) => logger.error({ err: error }, 'cleanup failed; it is tried again'),
        );
  let app: ReturnType<typeof createServer> | undefined;
  const waiting = new AbortController();

  return {
    health,
    terminate: () => observing.terminate(),
    reopenLogs: () => observing.reopenFiles(),
    async listen(host, port) {
      await observing.listen(host);
      const origins = new OriginPolicy(core.cors, { publicBaseUrl: core.public_base_url, boundHost: host });
      app = createServer({ ...serverOptions, origins });
      const isAuthenticated = (headers: object): boolean =>
        authenticate(headers as Parameters<typeof authenticate>[0]) !== undefined;
      const notReady = (): string | undefined => {
        if (draining) return 'draining';
        if (state.status().unavailable) return 'state_store_unavailable';
        return reconciliation?.pending === true && usable() ? 'reconciling' : undefined;
      };
      healthRoute(app, { health, notReady }, isAuthenticated);
      for (const mount of mounts) mcpRoute(app, mount, gateway);
      const files = { config, store, opened, sessions, secret, notices, downloads };
      fileRoutes(app, { ...files, telemetry, nonces, backend, known });
      reconciliation = reconcileAtStart(upkeep, version);
      if (reconciliation !== undefined) {
        // Keeps the process alive: behind the lock of a replica that died, nothing else does.
        const patience = delay(DECIDE_MS, undefined, { signal: waiting.signal });
        await Promise.race([reconciliation.attempted, patience.catch(() => undefined)]);
      }
      await app.listen({ host, port, backlog: 4096 }).catch(async (error: unknown) => {
        await reconciliation?.stop(); // gives its lock back to the next start
        throw error;
      });
      for (const { serverId, ping } of mounts) if (ping === undefined) telemetry.wiring({ serverId, result: 'ready' });
      const pinged = mounts.filter((mount) => mount.ping !== undefined);
      void startupWait(
        pinged.map(({ serverId, ping }) => ({
          id: serverId,
          ping: async () => {
            const reached = (await ping?.reach()) ?? true;
            // Without waiting for the others: it may go meanwhile.
            if (reached && !waiting.signal.aborted) ping?.start();
            return reached;
          },
        })),
        core.max_start_wait_seconds,
        waiting.signal,
      ).then((result) => {
        startup = result;
        if (result.not_ready_servers.length > 0) {
          logger.warn({ servers: result.not_ready_servers }, 'started degraded: upstream servers do not answer');
        }
        if (!waiting.signal.aborted) for (const mount of pinged) mount.ping?.start();
      });
      const address = app.server.address() as AddressInfo;
      listening = { host, port: address.port };
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
      return `http://${name.replace('0.0.0.0', '127.0.0.1')}:${address.port}`;
    },
    async stop() {
      draining = true;
      waiting.abort();
      await reconciliation?.stop();
      const grace = AbortSignal.timeout(options.shutdownGraceMs);
      const idle = async (): Promise<void> => {
        do {
          await Promise.all([running.idle(grace), opened?.uploads.idle(grace), downloads.idle(grace)]);
        } while (running.posts > 0 && !grace.aborted);
      };
      const endStreams = (): void => {
        for (const one of running.all()) if (one.isGet || grace.aborted) one.endStream();
      };
      await idle();
      // Code that runs when the time is over would only see its calls fail, and go on.
      if (grace.aborted) await sandbox.close();
      endStreams();
      // Answers that began before have promised to keep their connections open, those of the ended streams too.
      const streams = (): number => running.all().filter((one) => one.isGet).length;
      if (app !== undefined) await clientsGone(app, streams, Math.min(LEAVE_MS, options.shutdownGraceMs));
      await idle(); // of those that came in the meantime
      endStreams();
      // It would go on calling tools, and its clients would be left without an answer.
      await sandbox.close();
      await opened?.uploads.close();
      if (app !== undefined) await closeServer(app, FLUSH_MS);
      await cleanup?.stop();
      await Promise.all(mounts.map(async (mount) => mount.ping?.stop()));
      sessions.stop();
      keepAlive.stop();
      await Promise.all(mounts.map((mount) => mount.upstream.close()));
      await opened?.close();
      await state.close();
      await references?.stop();
      await observing.stop();
    },
  };
}
