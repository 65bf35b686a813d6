import type { PodHealthCache } from '../health/pod-health-cache.ts';
import type { Permissions } from '../validation/permissions.ts';
import type { Applier } from '../apply/applier.ts';
import type { EventRecorder } from '../status/events.ts';
import type { Resource } from '../kubernetes/kubernetes.ts';
import type { TtlCache } from '../cache/ttl-cache.ts';
import type { Cache } from '../cache/watched-cache.ts';
import type { StatusWriter } from '../status/status-writer.ts';
import type { BuildContext } from './build/build-context.ts';
import type { ScraperHealth } from './status/health.ts';
import type { PrepareAll } from './group/prepare.ts';

/** Everything outside that a reconcile of a group reads and writes. */
export interface Cluster {
  readonly sources: Cache;
  /** Pods with the label of a group, indexed by it. */
  readonly pods: Cache;
  /** Objects that the operator made, by kind, indexed by the label of their group. */
  readonly children: readonly { readonly resource: Resource; readonly cache: Cache }[];
  /** Services that URLs name; nothing where they cannot be read. */
  readonly services: Pick<TtlCache, 'get' | 'unreadable'>;
  readonly applier: Applier;
  readonly status: StatusWriter;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly podHealth: PodHealthCache<ScraperHealth>;
  readonly now: () => Date;
  readonly prepare: PrepareAll;
  readonly settings: Pick<BuildContext, 'image' | 'podSecurity'> & {
    readonly permissions: Permissions;
    /** Collector of groups that name none. */
    readonly otlpEndpoint: string | undefined;
  };
}
