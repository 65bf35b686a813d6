import type { Metadata } from '../../kubernetes/kubernetes.ts';
import type { ShardPlan } from './plan.ts';
import { shardLabels, shardName } from '../group/names.ts';

/** Metadata of an object of a shard. */
export function childMetadata(
  { group, shard, namespace, owners }: ShardPlan,
  name = shardName(group, shard),
): Metadata {
  return {
    name,
    namespace,
    labels: shardLabels(group, shard),
    ...(owners.length > 0 ? { ownerReferences: owners } : {}),
  };
}
