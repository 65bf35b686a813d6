import type { ReconcileResult } from '../files/reconcile/reconcile-storage.ts';
import type { CleanupReport } from '../cleanup/sweep.ts';
import type { FileTotals } from '../state/file-records.ts';
import type { StateCounts } from '../state/state-store.ts';
import type { StartupHealth } from '../upstream/startup-wait.ts';
import type { IssuerState } from '../identity/issuer-keys.ts';
import type { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import type { LockReport } from '../lock/lock-watch.ts';
import type { ToolLock } from '../lock/tool-lock.ts';
import type { Mount } from '../mount/mount.ts';

const MOST_UNKNOWN = 20;

/** The health object (specification, section 4; with the further members of the original). */
export interface HealthObject {
  status: 'ok' | 'degraded';
  package: string;
  version: string;
  servers: ServerHealth[];
  persistence: Record<string, unknown>;
  startup?: StartupHealth;
  startup_reconciliation?: ReconcileResult | Pick<ReconcileResult, 'status' | 'mode'>;
  /** Whether files of referenced Secrets or ConfigMaps differ from those at the start. */
  references?: { changed: boolean };
  adapter_wiring: { status_by_server: Record<string, boolean>; ready: boolean };
  /** Whether tokens can be checked. An issuer that is away is no reason to send requests elsewhere. */
  issuers?: IssuerState[];
  /** How servers differ from the tool lock, by their ids; only for callers with the token what exactly does. */
  tool_lock?: ToolLockHealth;
  degraded_reason?: string;
  /** What is weak about who may come in, as codes; the log has sentences. */
  warnings?: string[];
}

export interface ToolLockHealth {
  mode: LockDocument['mode'];
  /** Why the lock that was written last is not in force; null where it is. */
  problem: string | null;
  /** Servers that the lock names and the configuration does not. */
  unknown_servers: readonly string[];
  servers: Record<string, ShownLockReport>;
}

/** Names are for callers with the token. */
interface ShownLockReport extends Omit<LockReport, 'drift'> {
  readonly drift: readonly (Omit<LockReport['drift'][number], 'name'> & { readonly name?: string })[];
}

/** How the servers compare with the lock. */
export function toolLockHealth(
  lock: Pick<ToolLock, 'mode' | 'problem' | 'servers'>,
  mounts: readonly Pick<Mount, 'serverId' | 'lockWatch'>[],
): ToolLockHealth {
  const known = new Set(mounts.map(({ serverId }) => serverId));
  return {
    mode: lock.mode,
    problem: lock.problem,
    unknown_servers: lock.servers.filter((id) => !known.has(id)).slice(0, MOST_UNKNOWN),
    servers: Object.fromEntries(
      mounts.flatMap(({ serverId, lockWatch }) => (lockWatch === undefined ? [] : [[serverId, lockWatch.report]])),
    ),
  };
}

export interface ServerHealth {
  server_id: string;
  /** Only for callers with the token, where one is asked for. */
  mount_path?: string;
  upstream_url?: string;
  status: 'ok' | 'degraded';
  breaker: Record<string, string | number>;
  ping?: object;
  detail?: string;
  /** Whether it speaks the revision without sessions (2026-07-28); left out while that is not known. */
  sessionless?: boolean;
  /** Entries of `adapters` that do not fit what the server lists; the sentence only for callers with the token. */
  file_rules?: { entry: number; reason: string; message?: string }[];
  /** Files that tools have named and that were not taken; only for callers with the token. */
  files_not_taken?: string[];
}

export interface PersistenceHealth {
  readonly degradedReason: string | null;
  readonly object: Record<string, unknown>;
}

/** Ids of the servers whose upstream has never answered a ping; one that is not pinged is taken to be there. */
export function unreachedServers(mounts: readonly Pick<Mount, 'serverId' | 'ping'>[]): string[] {
  return mounts.filter(({ ping }) => ping !== undefined && !ping.isReached).map(({ serverId }) => serverId);
}

/** The state of one upstream as this replica sees it. */
export function serverHealth(mount: Mount, upstreamUrl: string, now: number): ServerHealth {
  const { known } = mount.revisions;
  const base = {
    server_id: mount.serverId,
    mount_path: mount.path,
    upstream_url: upstreamUrl,
    ...(known !== undefined && known !== 'unknown' && { sessionless: known === 'modern' }),
    ...fileRules(mount),
  };
  const breaker = mount.breaker.snapshot(now);
  if (mount.ping === undefined) return { ...base, status: 'ok', breaker, detail: 'upstream_ping_disabled' };
  const ping = mount.ping.snapshot();
  const failing = ping.last_failure_at !== null && ping.last_failure_at > (ping.last_success_at ?? 0);
  // It answers, so the breaker stays closed; but nothing can be done there.
  if (ping.refused !== null) return { ...base, status: 'degraded', breaker, ping, detail: 'upstream_refused' };
  if (breaker['state'] === 'closed' && !failing) return { ...base, status: 'ok', breaker, ping };
  return { ...base, status: 'degraded', breaker, ping, detail: 'upstream_unhealthy' };
}

function fileRules({
  fileRules: rules,
}: Pick<Mount, 'fileRules'>): Pick<ServerHealth, 'file_rules' | 'files_not_taken'> {
  const { unmatched = [], filesNotTaken = [] } = rules ?? {};
  return {
    ...(unmatched.length > 0 && { file_rules: [...unmatched] }),
    ...(filesNotTaken.length > 0 && { files_not_taken: [...filesNotTaken] }),
  };
}

/** Puts the parts together; `degraded` when any of them is. */
export function healthObject(parts: {
  version: string;
  servers: ServerHealth[];
  persistence: PersistenceHealth;
  inventory: StateCounts | undefined;
  files?: FileTotals | undefined;
  /** The last pass of the cleanup on this replica. */
  cleanup?: CleanupReport | undefined;
  startup: StartupHealth | undefined;
  reconciliation?: ReconcileResult | undefined;
  references?: { changed: boolean };
  /** Undefined where no authorization server is configured. */
  issuers?: readonly IssuerState[] | undefined;
  warnings?: readonly string[];
  /** Undefined where nothing is locked. */
  toolLock?: ToolLockHealth | undefined;
  /** Ids of servers whose upstream has never answered yet. */
  unreached?: readonly string[];
}): HealthObject {
  const unhealthy = parts.servers.some((server) => server.status === 'degraded');
  const { unreached = [], warnings = [] } = parts;
  const unwired = unreached.length > 0 ? 'adapter_wiring_incomplete' : null;
  const refused = parts.servers.find(({ detail }) => detail === 'upstream_refused') !== undefined;
  const broken = parts.servers.some(({ detail }) => detail === 'upstream_unhealthy');
  const reason = unhealthy
    ? refused && !broken
      ? 'upstream_refused'
      : 'upstream_unhealthy'
    : (unwired ?? parts.persistence.degradedReason);
  const wiring = Object.fromEntries(parts.servers.map(({ server_id: id }) => [id, !unreached.includes(id)]));
  const inventory =
    parts.inventory === undefined
      ? { status: 'error', detail: 'state_repository_unavailable' }
      : {
          status: 'ok',
          sessions_count: parts.inventory.sessions,
          tombstones_count: parts.inventory.tombstones,
          ...filesInventory(parts.files),
          in_flight_count: parts.inventory.inFlight,
          ...(parts.cleanup === undefined ? {} : { last_cleanup: parts.cleanup }),
        };
  return {
    status: reason === null ? 'ok' : 'degraded',
    package: 'remote_mcp_adapter',
    version: parts.version,
    servers: parts.servers,
    persistence: { ...parts.persistence.object, state_inventory: inventory },
    ...(parts.startup === undefined ? {} : { startup: parts.startup }),
    ...(parts.reconciliation === undefined ? {} : { startup_reconciliation: parts.reconciliation }),
    adapter_wiring: { status_by_server: wiring, ready: unreached.length === 0 },
    ...(parts.references === undefined ? {} : { references: parts.references }),
    ...(parts.issuers === undefined ? {} : { issuers: [...parts.issuers] }),
    ...(parts.toolLock === undefined ? {} : { tool_lock: parts.toolLock }),
    ...(reason === null ? {} : { degraded_reason: reason }),
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  };
}

const filesInventory = (files: FileTotals | undefined): Record<string, number> =>
  files === undefined
    ? {}
    : {
        uploads_count: files.uploads.count,
        uploads_bytes: files.uploads.bytes,
        artifacts_count: files.artifacts.count,
        artifacts_bytes: files.artifacts.bytes,
      };

/** The health object for callers without a token while authentication is on: servers by their ids, no places, no error texts. */
export function publicHealth(health: HealthObject): HealthObject {
  const { status, configured_type, effective_type, fallback_active } = health.persistence;
  const reconciliation = health.startup_reconciliation;
  return {
    ...health,
    servers: health.servers.map((server) => {
      const {
        ping,
        mount_path: _path,
        upstream_url: _url,
        files_not_taken: _files,
        file_rules: rules,
        ...others
      } = server;
      const shown = rules?.map(({ entry, reason }) => ({ entry, reason }));
      const rest = shown === undefined ? others : { ...others, file_rules: shown };
      return ping === undefined ? rest : { ...rest, ping: { ...ping, last_error: null, refused: null } };
    }),
    persistence: { status, configured_type, effective_type, fallback_active },
    ...(health.issuers === undefined ? {} : { issuers: health.issuers.map(({ issuer, keys }) => ({ issuer, keys })) }),
    ...(health.tool_lock === undefined ? {} : { tool_lock: publicLock(health.tool_lock) }),
    ...(reconciliation === undefined
      ? {}
      : { startup_reconciliation: { status: reconciliation.status, mode: reconciliation.mode } }),
  };
}

/**
 * What a server lists is not for everybody to see. The operator of Kubernetes has no token, but the lock: from the digests
 * that were approved it knows the names.
 */
const publicLock = ({ mode, problem, servers }: ToolLockHealth): ToolLockHealth => ({
  mode,
  problem: problem === null ? null : 'the last lock cannot be used',
  unknown_servers: [],
  servers: Object.fromEntries(Object.entries(servers).map(([id, server]) => [id, withoutNames(server)])),
});

function withoutNames({ drift, new: added, removed, more, ...rest }: ShownLockReport): ShownLockReport {
  const shown = drift.flatMap(({ kind, fields, locked }): ShownLockReport['drift'] => {
    if (kind === 'instructions') return [{ kind, fields }];
    return locked === undefined ? [] : [{ kind, fields, locked }];
  });
  return {
    ...rest,
    drift: shown,
    new: [],
    removed: [],
    more: {
      drift: more.drift + drift.length - shown.length,
      new: more.new + added.length,
      removed: more.removed + removed.length,
    },
  };
}
