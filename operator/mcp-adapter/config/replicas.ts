import type { McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';

/** Between how many and how many pods there are. */
export function replicaRange({ replicas = 1, autoscaling }: McpAdapterSpec): { fewest: number; most: number } {
  if (autoscaling === undefined) return { fewest: replicas, most: replicas };
  return { fewest: autoscaling.minReplicas ?? 1, most: autoscaling.maxReplicas };
}
