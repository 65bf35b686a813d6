import type { EgressContext } from '../../pods/egress.ts';
import type { OwnerReference } from '../../kubernetes/kubernetes.ts';

/** What build needs beside the group. */
export interface BuildContext extends EgressContext {
  readonly namespace: string;
  /** Name of the group. */
  readonly name: string;
  /** All resources of the group, also those that do not run. */
  readonly owners: readonly OwnerReference[];
  /** Image of the operator, used when no source names one. */
  readonly image: string;
  /** Addresses of the API server, to which pods may not connect; undefined: they may. */
  readonly apiServer: readonly string[] | undefined;
  /** Number of shards that exist. */
  readonly shards: number;
  /** Annotation mcpadapter.io/references-revision to use in a shard. */
  readonly referencesRevision: (shard: number) => string | undefined;
}
