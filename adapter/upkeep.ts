import type { AdapterConfig } from '../crds/config/adapter.ts';
import { ReconciliationAtStart } from './files/reconcile-at-start.ts';
import { isUnreconciled } from './files/reconcile-marker.ts';
import { type ReconcileResult, reconcileStorage } from './files/reconcile-storage.ts';
import { fileTimes, type OpenedFiles } from './open-files.ts';
import { CleanupPass } from './sessions/cleanup-pass.ts';
import type { SessionFiles } from './sessions/session-files.ts';
import { principalOf } from './sessions/session-registry.ts';
import type { SessionRecord, StateStore } from './state/state-store.ts';
import type { Logger } from './telemetry/logger.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

/** How long a replica waits with being ready for files that reconciliation looks through. */
const RECONCILE_PATIENCE_MS = 120_000;
/** How long a workspace without files is kept at least: whoever asked for it may be about to upload. */
const WORKSPACE_TTL_MS = 600_000;

/** Where nothing is configured that stores files. */
export const NO_BYTES = { discard: () => Promise.resolve(), discardSession: () => Promise.resolve() };
const NO_STAGE = {
  items: async function* () {},
  pathOf: () => '',
  removeStray: () => Promise.resolve(),
  removeTemporary: () => Promise.resolve(0),
};

export interface UpkeepParts {
  readonly config: AdapterConfig;
  readonly store: StateStore;
  readonly opened: OpenedFiles | undefined;
  /** Files are neither deleted nor adopted while this is false: the store is down, or replaced by memory. */
  readonly usable: () => boolean;
  readonly logger: Logger;
}

/** What the cleanup loop does. */
export function cleanupPass(
  { config, store, opened, usable, logger }: UpkeepParts,
  parts: {
    readonly sessionFiles: SessionFiles;
    /** Whether this replica's own reconciliation is done. */
    readonly mayRemoveOrphans: () => boolean;
    readonly endUpstream: (record: SessionRecord) => Promise<void>;
    readonly telemetry: Telemetry;
  },
): CleanupPass {
  const { core, sessions, storage } = config;
  return new CleanupPass(
    {
      ...parts,
      // Another replica may be at it, or one that was killed may have left it half done.
      mayRemoveOrphans: async () => parts.mayRemoveOrphans() && !(await isUnreconciled(store)),
      store,
      bytes: opened?.files ?? NO_BYTES,
      stage: opened?.files.stage ?? NO_STAGE,
      secondHome: opened?.secondHome,
      usable: () => opened !== undefined && usable(),
      log: logger,
    },
    {
      idleTtlMs: sessions.idle_ttl_seconds === null ? null : sessions.idle_ttl_seconds * 1000,
      allowRevival: sessions.allow_revival,
      tombstoneTtlMs: sessions.tombstone_ttl_seconds * 1000,
      workspaceTtlMs: Math.max(core.auth.signed_upload_ttl_seconds * 1000, WORKSPACE_TTL_MS),
      orphanGraceMs: storage.orphan_sweeper_enabled ? storage.orphan_sweeper_grace_seconds * 1000 : null,
      ...fileTimes(config),
    },
  );
}

/** Starts to look for files without metadata; undefined where nothing stores files. */
export function reconcileAtStart(
  { config, store, opened, usable, logger }: UpkeepParts,
  version: string,
): ReconciliationAtStart | undefined {
  if (opened === undefined) return undefined;
  const { stage } = opened.files;
  const { core, artifacts, servers } = config;
  const { reconciliation, refresh_on_startup: refreshed } = config.state_persistence;
  const options = {
    mode: reconciliation.mode,
    refreshed,
    serverIds: servers.map(({ id }) => id),
    legacyServerId: reconciliation.legacy_server_id,
    principal: core.auth.enabled && core.auth.token !== null ? principalOf(core.auth.token) : '',
    version,
    exposed: artifacts.expose_as_resources,
    ...fileTimes(config),
  };
  const reconcile = (signal: AbortSignal, onDecided: () => void): Promise<ReconcileResult> =>
    reconcileStorage({ store, stage, usable, onDecided }, options, signal);
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
