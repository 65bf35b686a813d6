import { type AdminPort, openAdminPort } from '../../lib/http/admin-port.ts';
import type { AdminSettings } from '../../lib/http/admin-settings.ts';
import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import type { Environment } from '../../lib/references/reference.ts';
import type { Redact } from '../../lib/redaction/redact.ts';
import type { Access } from '../access/access.ts';
import { AccessRules } from '../access/access-rules.ts';
import { AdminFiles } from '../admin/admin-files.ts';
import { type AskedEyes, adminRoutes } from '../admin/admin-routes.ts';
import { AdminLock } from '../admin/admin-lock.ts';
import { AdminSessions } from '../admin/admin-sessions.ts';
import type { LimitsHit } from '../admin/limits-hit.ts';
import { ToolLists } from '../admin/tool-lists.ts';
import type { HealthReport } from './health-report.ts';
import { fetchedServer } from '../inspect/fetched-server.ts';
import { ANYBODY, type Identity } from '../identity/identity.ts';
import { lockSecretsIn } from '../inspect/lock-secrets-in.ts';
import type { ToolLock } from '../lock/tool-lock.ts';
import { mayEndUpstream } from '../mount/client-upstream.ts';
import type { Mount } from '../mount/mount.ts';
import type { OpenedFiles } from './open-files.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/logs/logger.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { toolListOf } from '../inspect/tool-list-of.ts';

export interface AdminDeps {
  readonly config: AdapterConfig;
  /** What its references were taken from: the secrets in them are hidden. */
  readonly env: Environment;
  readonly version: string;
  readonly mounts: readonly Mount[];
  readonly store: StateStore;
  readonly bus: MessageBus;
  readonly opened: OpenedFiles | undefined;
  readonly sessionFiles: SessionFiles;
  readonly limits: LimitsHit;
  readonly health: HealthReport;
  readonly notReady: () => string | undefined;
  readonly secret: () => string;
  /** Undefined where nothing is locked. */
  readonly lock: Pick<ToolLock, 'rules'> | undefined;
  readonly telemetry: Telemetry;
  readonly logger: Logger;
  readonly redact: Redact;
}

/** How metrics call its routes. */
const ROUTE = '/admin';
const END_SESSION_MS = 2_000;

/** Opens the port for who operates the adapter. */
export function openAdmin(settings: AdminSettings, deps: AdminDeps): Promise<AdminPort> {
  const { config, env, version, mounts, store, bus, opened, sessionFiles, limits, health, notReady } = deps;
  const { secret, telemetry, logger, redact } = deps;
  const onError = (error: unknown): void => logger.warn({ err: error }, 'an upstream session could not be ended');
  const routes = adminRoutes({
    version,
    mounts,
    health: () => health(true),
    notReady,
    limits,
    lists: new ToolLists<Mount>(toolListOf),
    sessions: new AdminSessions({
      store,
      sessionFiles,
      bus,
      telemetry,
      tombstoneTtlMs: config.sessions.tombstone_ttl_seconds * 1000,
      endUpstream: async (record) => {
        const mount = mounts.find(({ serverId }) => serverId === record.serverId);
        if (mount === undefined || !mayEndUpstream(mount)) return;
        await mount.upstream.endSession(record, mount.headers.base('DELETE', undefined), END_SESSION_MS);
      },
      onError,
    }),
    files: new AdminFiles({ records: store.files, bytes: opened?.files, secret }),
    toolLock: new AdminLock<Mount>({
      mounts,
      fetch: (mount, timeoutMs) => fetchedServer(mount, timeoutMs, redact),
      secrets: lockSecretsIn(config, env),
      version,
    }),
    accessOf: accessOf(config),
    lockOf: (serverId) => deps.lock?.rules(serverId),
    redact,
  });
  const onRequest = ({ method, route, status, seconds }: Parameters<OnRequest>[0]): void => {
    if (!telemetry.isOn) return;
    const nothing = { attributes: { requestId: '' }, principal: '', bytesIn: 0, bytesOut: 0, isEventStream: false };
    telemetry.request({ method, route: `${ROUTE}${route}`, status, seconds, ...nothing });
  };
  return openAdminPort(settings, routes, { logger, onRequest });
}

type OnRequest = NonNullable<Parameters<typeof openAdminPort>[2]['onRequest']>;

/** What a caller may do whom nothing but a name and scopes are known of. */
function accessOf(config: AdapterConfig): (serverId: string, eyes: AskedEyes) => Access | undefined {
  const rules = new Map(
    config.servers.map((server) => {
      const { access } = effectiveServer(config, server);
      return [server.id, access === null ? undefined : new AccessRules(access)];
    }),
  );
  return (serverId, { principal, scopes }) => {
    const hasScopes = !principal.startsWith('token:');
    const identity: Identity = { ...ANYBODY, name: principal, scopes: new Set(scopes), hasScopes };
    return rules.get(serverId)?.of(identity);
  };
}
