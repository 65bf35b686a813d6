import type { ServerConfig } from '../../crds/config/adapter-file/adapter.ts';
import type { Redact } from '../../lib/redaction/redact.ts';
import { redactUrl } from '../../lib/redaction/redact-url.ts';
import type { ReferencesWatch } from '../../lib/references/watch-references.ts';
import type { RunningExchanges } from '../exchange/running.ts';
import type { IssuerState } from '../identity/issuer-keys.ts';
import type { ToolLock } from '../lock/tool-lock.ts';
import type { Mount } from '../mount/mount.ts';
import {
  healthObject,
  publicHealth,
  serverHealth,
  toolLockHealth,
  unreachedServers,
  type HealthObject,
} from '../health/health.ts';
import type { OpenedState } from '../state/open/open-store.ts';
import type { Janitor } from './janitor.ts';
import type { UpstreamPings } from './upstream-pings.ts';

export interface HealthReportDeps {
  readonly version: string;
  /** As configured. */
  readonly servers: readonly Pick<ServerConfig, 'id' | 'upstream'>[];
  readonly mounts: readonly Mount[];
  readonly state: Pick<OpenedState, 'store' | 'status'>;
  readonly running: Pick<RunningExchanges, 'posts'>;
  readonly janitor: Pick<Janitor, 'lastCleanup' | 'reconciliation'>;
  readonly pings: Pick<UpstreamPings, 'startup'>;
  /** Undefined where no references are watched. */
  readonly references: Pick<ReferencesWatch, 'changed'> | undefined;
  readonly issuers: () => readonly IssuerState[] | undefined;
  readonly warnings: () => readonly string[];
  /** Undefined where nothing is locked. */
  readonly lock: ToolLock | undefined;
  readonly redact: Redact;
}

/** How the replica is now. `authenticated`: the caller may see where the state store and the upstreams are. */
export type HealthReport = (authenticated: boolean) => Promise<HealthObject>;

/** Asks all parts how they are. A state store that cannot be asked is a part of the answer. */
export function healthReport({
  version,
  servers,
  mounts,
  state,
  running,
  janitor,
  pings,
  references,
  issuers,
  warnings,
  lock,
  redact,
}: HealthReportDeps): HealthReport {
  const { store } = state;
  const urls = new Map(servers.map(({ id, upstream }) => [id, redactUrl(upstream.url)]));
  return async (authenticated) => {
    const now = Date.now();
    const status = state.status();
    const counts = await store.counts(store.now()).catch(() => undefined);
    const totals = await store.files.totals().catch(() => undefined);
    // Without a limit or an idle time no call is counted in the store; then this replica's own count is said.
    const inventory =
      counts === undefined ? undefined : { ...counts, inFlight: Math.max(counts.inFlight, running.posts) };
    const full = healthObject({
      version,
      servers: mounts.map((mount) => serverHealth(mount, urls.get(mount.serverId) ?? '', now)),
      persistence: { degradedReason: status.degradedReason, object: status.object },
      inventory,
      files: totals,
      cleanup: janitor.lastCleanup,
      startup: pings.startup,
      reconciliation: janitor.reconciliation?.result,
      references: references === undefined ? undefined : { changed: references.changed() },
      unreached: unreachedServers(mounts),
      issuers: issuers(),
      warnings: warnings(),
      toolLock: lock && toolLockHealth(lock, mounts),
    });
    const shown = authenticated ? full : publicHealth(full);
    // Text by text: in the JSON of the whole, the name of a server could look like that of a credential.
    const safe: HealthObject = JSON.parse(JSON.stringify(shown), (_name, value: unknown) =>
      typeof value === 'string' ? redact(value) : value,
    );
    return safe;
  };
}
