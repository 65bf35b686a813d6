import { setTimeout as delay } from 'node:timers/promises';

import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { timerMs } from '../../lib/timer-ms.ts';
import { ReconciliationAtStart } from '../files/reconcile/reconcile-at-start.ts';
import { isUnreconciled } from '../files/reconcile/reconcile-marker.ts';
import { type ReconcileResult, reconcileStorage } from '../files/reconcile/reconcile-storage.ts';
import { mayEndUpstream } from '../mount/client-upstream.ts';
import type { Mount } from '../mount/mount.ts';
import { fileTimes, type OpenedFiles } from './open-files.ts';
import { SweepLoop } from '../cleanup/sweep-loop.ts';
import { Sweep, type CleanupReport } from '../cleanup/sweep.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/logs/logger.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** How long a replica waits with being ready for files that reconciliation looks through. */
const RECONCILE_PATIENCE_MS = 120_000;
/** How long opening the port waits for whether files have to be looked for; after that, new sessions wait for it. */
const DECIDE_MS = 2_000;
/** How long an upstream may take to end a session that has expired. */
const END_SESSION_MS = 2_000;
/** How long a workspace without files is kept at least: whoever asked for it may be about to upload. */
const WORKSPACE_TTL_MS = 600_000;

/** Where nothing is configured that stores files. */
export const NO_BYTES = { discard: () => Promise.resolve(), discardSession: () => Promise.resolve() };
const NO_STAGE = {
  items: async function* () {},
  pathsOf: () => [],
  removeStray: () => Promise.resolve(),
  removeEntries: () => Promise.resolve(0),
};

export interface JanitorDeps {
  readonly config: AdapterConfig;
  readonly store: StateStore;
  readonly opened: OpenedFiles | undefined;
  /** Files are neither deleted nor adopted while this is false: the store is down, or replaced by memory. */
  readonly usable: () => boolean;
  /** Whether this replica's clock differs from that of the store. */
  readonly clockDiffers: () => boolean;
  /** Whose are the sessions that files are adopted for. Throws while the store is down. */
  readonly principal: () => string;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly version: string;
  readonly sessionFiles: SessionFiles;
  readonly mounts: readonly Mount[];
}

/** Keeps sessions and files in order: cleans up again and again, and reconciles storage once, at the start. */
export class Janitor {
  readonly #deps: JanitorDeps;
  readonly #pass: Sweep;
  /** Undefined without `cleanup_interval_seconds`. */
  readonly #cleanup: SweepLoop | undefined;
  #reconciliation: ReconciliationAtStart | undefined;

  constructor(deps: JanitorDeps) {
    const { config, logger } = deps;
    const { cleanup_interval_seconds: seconds } = config.core;
    this.#deps = deps;
    this.#pass = sweepOf(deps, () => this.#reconciliation?.settled === true);
    if (seconds === null) return;
    this.#cleanup = new SweepLoop(
      (signal) => this.#pass.run(signal),
      timerMs(seconds),
      (error) => logger.error({ err: error }, 'cleanup failed; it is tried again'),
    );
  }

  /** The last pass of the cleanup on this replica; undefined before. */
  get lastCleanup(): CleanupReport | undefined {
    return this.#pass.last;
  }

  /** Undefined before `reconcile`, and where nothing stores files. */
  get reconciliation(): Pick<ReconciliationAtStart, 'decided' | 'pending' | 'result'> | undefined {
    return this.#reconciliation;
  }

  /** Starts to look for files without metadata. Resolves when the port may be opened, at once when `signal` says so. */
  async reconcile(signal: AbortSignal): Promise<void> {
    this.#reconciliation = reconcileAtStart(this.#deps);
    if (this.#reconciliation === undefined) return;
    // Keeps the process alive: behind the lock of a replica that died, nothing else does.
    const patience = delay(DECIDE_MS, undefined, { signal });
    await Promise.race([this.#reconciliation.attempted, patience.catch(() => undefined)]);
  }

  /** Gives its lock back, too, so that the next start need not wait for it. */
  async stopReconciling(): Promise<void> {
    await this.#reconciliation?.stop();
  }

  async stopCleanup(): Promise<void> {
    await this.#cleanup?.stop();
  }
}

/** `isReconciled`: whether this replica's own reconciliation is done. */
function sweepOf(
  { config, store, opened, usable, clockDiffers, logger, telemetry, sessionFiles, mounts }: JanitorDeps,
  isReconciled: () => boolean,
): Sweep {
  const { core, sessions, storage, uploads } = config;
  const longestLink = Math.max(core.auth.signed_upload_ttl_seconds, uploads.page_url_ttl_seconds);
  return new Sweep(
    {
      store,
      sessionFiles,
      telemetry,
      // Another replica may be at it, or one that was killed may have left it half done.
      mayRemoveOrphans: async () => isReconciled() && !(await isUnreconciled(store)),
      endUpstream: async (record) => {
        const mount = mounts.find(({ serverId }) => serverId === record.serverId);
        if (mount === undefined || !mayEndUpstream(mount)) return;
        await mount.upstream.endSession(record, mount.headers.base('DELETE', undefined), END_SESSION_MS);
      },
      bytes: opened?.files ?? NO_BYTES,
      stage: opened?.files.stage ?? NO_STAGE,
      blobStore: opened?.blobStore,
      usable: () => opened !== undefined && usable(),
      clockDiffers,
      log: logger,
    },
    {
      idleTtlMs: sessions.idle_ttl_seconds === null ? null : sessions.idle_ttl_seconds * 1000,
      allowRevival: sessions.allow_revival,
      tombstoneTtlMs: sessions.tombstone_ttl_seconds * 1000,
      workspaceTtlMs: Math.max(longestLink * 1000, WORKSPACE_TTL_MS),
      orphanGraceMs: storage.orphan_sweeper_enabled ? storage.orphan_sweeper_grace_seconds * 1000 : null,
      ...fileTimes(config),
    },
  );
}

/** Undefined where nothing stores files. */
function reconcileAtStart({
  config,
  store,
  opened,
  usable,
  principal,
  logger,
  version,
}: JanitorDeps): ReconciliationAtStart | undefined {
  if (opened === undefined) return undefined;
  const { stage } = opened.files;
  const { artifacts, servers } = config;
  const { reconciliation, refresh_on_startup: refreshed } = config.state_persistence;
  const options = {
    mode: reconciliation.mode,
    refreshed,
    serverIds: servers.map(({ id }) => id),
    legacyServerId: reconciliation.legacy_server_id,
    version,
    exposed: artifacts.expose_as_resources,
    ...fileTimes(config),
  };
  const reconcile = async (signal: AbortSignal, onDecided: () => void): Promise<ReconcileResult> =>
    reconcileStorage({ store, stage, usable, onDecided }, { ...options, principal: principal() }, signal);
  return new ReconciliationAtStart(reconcile, {
    mode: reconciliation.mode,
    mustDecide: reconciliation.mode === 'if_empty',
    patienceMs: RECONCILE_PATIENCE_MS,
    onError: (error) => logger.error({ err: error }, 'reconciliation of storage failed; it is tried again'),
    onResult: (result) => {
      if (result.status !== 'applied') return;
      logger.info({ ...result }, 'files without metadata were adopted');
      const { unresolved_sessions_count: unresolved } = result;
      if (unresolved > 0) {
        const advice =
          'no orphans are removed until state_persistence.reconciliation.legacy_server_id says whose they are';
        logger.warn({ sessions: unresolved }, `files of sessions of unknown servers were left alone; ${advice}`);
      }
    },
  });
}
