import type { PodHealthCache } from '../health/pod-health-cache.ts';
import type { Permissions } from '../validation/permissions.ts';
import type { TaskRunner } from '../tasks/task.ts';
import type { Applier } from '../apply/applier.ts';
import type { EventRecorder } from '../status/events.ts';
import type { KubernetesApi, Resource } from '../kubernetes/kubernetes.ts';
import type { TtlCache } from '../cache/ttl-cache.ts';
import type { Cache } from '../cache/watched-cache.ts';
import type { StatusWriter } from '../status/status-writer.ts';
import type { BuildContext } from './build/build-context.ts';
import type { HandshakeProber } from './health/handshake-prober.ts';
import type { PodHealth } from './health/pod-health.ts';

/** Everything outside that a reconcile of a McpAdapter reads and writes. */
export interface Cluster {
  readonly adapters: Cache;
  /** McpToolLocks, as `cachedLock` keeps them. */
  readonly locks: Cache;
  /** Pods with the label of an adapter, indexed by it. */
  readonly pods: Cache;
  /** Objects that the operator made, by kind, indexed by the label of their adapter. */
  readonly children: readonly { readonly resource: Resource; readonly cache: Cache }[];
  /** Services that upstreams are reached by; nothing where they cannot be read. */
  readonly services: TtlCache;
  /** Claims that users made. */
  readonly claims: TtlCache;
  /** Whether the API exists now. */
  readonly serves: (resource: Resource, signal: AbortSignal) => Promise<boolean>;
  readonly applier: Applier;
  readonly status: StatusWriter;
  /** Of McpToolLocks. */
  readonly lockStatus: StatusWriter;
  /** For what is noted on pods, and for the documents of locks, which no cache holds. */
  readonly api: Pick<KubernetesApi, 'get' | 'merge'>;
  readonly events: EventRecorder;
  readonly podHealth: PodHealthCache<PodHealth>;
  readonly handshakes: HandshakeProber;
  readonly settings: Pick<BuildContext, 'image' | 'podSecurity'> & { readonly permissions: Permissions };
  readonly taskRunner: TaskRunner;
  readonly now: () => Date;
}
