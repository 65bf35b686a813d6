import { locate, elements } from '../exchange/scanning/json-scan.ts';
import type { HealthObject } from '../health/health.ts';
import type { Mount } from '../mount/mount.ts';
import type { LimitsHit } from './limits-hit.ts';
import type { ToolLists } from './tool-lists.ts';

export interface PodStatusDeps {
  readonly version: string;
  readonly mounts: readonly Mount[];
  /** As for a caller with the token, redacted. */
  readonly health: () => Promise<HealthObject>;
  /** Why the replica gets no requests now; undefined when it does. */
  readonly notReady: () => string | undefined;
  readonly limits: Pick<LimitsHit, 'counts'>;
  readonly lists: Pick<ToolLists<Mount>, 'within'>;
}

/** An upstream that is slow to list its tools does not hold up what else there is to say. */
const LIST_MS = 2_000;

/** What one replica says of itself to who operates it. As long as its list of servers. */
export async function podStatus(deps: PodStatusDeps): Promise<object> {
  const { version, mounts, health, notReady, limits, lists } = deps;
  const servers = await Promise.all(
    mounts.map(async (mount) => ({
      server_id: mount.serverId,
      tools: toolCount(await lists.within(mount, LIST_MS)),
      revision: mount.revisions.known ?? null,
    })),
  );
  return {
    version,
    uptime_seconds: Math.round(process.uptime()),
    not_ready: notReady() ?? null,
    limits_hit: limits.counts,
    servers,
    health: await health(),
  };
}

/** Null where the upstream did not say. */
function toolCount(result: string | undefined): number | null {
  const list = result === undefined ? undefined : locate(result, ['tools']);
  return result === undefined || list === undefined ? null : [...elements(result, list.start)].length;
}
