import type { PodHearing } from '../pods/hear-pods.ts';
import type { Permissions } from '../pods/permissions.ts';
import type { Computing } from '../pods/task.ts';
import type { Applier } from '../runtime/apply.ts';
import type { EventRecorder } from '../runtime/events.ts';
import type { Resource } from '../runtime/kubernetes.ts';
import type { Lookup } from '../runtime/lookup.ts';
import type { Cache } from '../runtime/reconciler.ts';
import type { StatusWriter } from '../runtime/status.ts';
import type { BuildContext } from './build-context.ts';
import type { Greeter } from './greeter.ts';
import type { PodHealth } from './pod-health.ts';

/** Everything outside that a reconcile of a McpAdapter reads and writes. */
export interface Cluster {
  readonly adapters: Cache;
  /** Pods with the label of an adapter, indexed by it. */
  readonly pods: Cache;
  /** Objects that the operator made, by kind, indexed by the label of their adapter. */
  readonly children: readonly { readonly resource: Resource; readonly cache: Cache }[];
  /** Services that upstreams are reached by; nothing where they cannot be read. */
  readonly services: Lookup;
  /** Claims that users made. */
  readonly claims: Lookup;
  /** Whether the API exists now. */
  readonly serves: (resource: Resource, signal: AbortSignal) => Promise<boolean>;
  readonly applier: Applier;
  readonly status: StatusWriter;
  readonly events: EventRecorder;
  readonly hearing: PodHearing<PodHealth>;
  readonly greeter: Greeter;
  readonly settings: Pick<BuildContext, 'image' | 'podSecurity'> & { readonly permissions: Permissions };
  readonly computing: Computing;
  readonly now: () => Date;
}
