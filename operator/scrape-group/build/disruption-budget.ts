import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { DISRUPTION_BUDGETS } from '../../kubernetes/resources.ts';
import type { ShardPlan } from './plan.ts';
import { childMetadata } from './child-metadata.ts';
import { shardSelector } from '../group/names.ts';

/** With one pod there is none: it would keep a node from being drained for ever. */
export function disruptionBudget(plan: ShardPlan): KubernetesObject | undefined {
  if (plan.replicas <= 1) return undefined;
  return {
    apiVersion: DISRUPTION_BUDGETS.apiVersion,
    kind: DISRUPTION_BUDGETS.kind,
    metadata: childMetadata(plan),
    spec: {
      selector: { matchLabels: shardSelector(plan.group, plan.shard) },
      maxUnavailable: 1,
      // A pod that does not work anyway must not keep a node from being drained.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}
