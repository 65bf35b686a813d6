import type { McpAdapter, McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { DISRUPTION_BUDGETS } from '../../kubernetes/resources.ts';
import { childMetadata, selectorOf } from '../config/labels.ts';
import { replicaRange } from '../config/replicas.ts';

export function disruptionBudget(adapter: McpAdapter): KubernetesObject | undefined {
  if (!isWanted(adapter.spec)) return undefined;
  const { minAvailable, maxUnavailable = 1 } = adapter.spec.disruptionBudget ?? {};
  return {
    apiVersion: DISRUPTION_BUDGETS.apiVersion,
    kind: DISRUPTION_BUDGETS.kind,
    metadata: childMetadata(adapter, adapter.metadata.name),
    spec: {
      selector: { matchLabels: selectorOf(adapter) },
      ...(minAvailable === undefined ? { maxUnavailable } : { minAvailable }),
      // A pod that does not serve anyway must not keep a node from being drained.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}

/** With one pod, a budget that keeps pods keeps a node from being drained for ever. */
function isWanted(spec: McpAdapterSpec): boolean {
  const { enabled = true, minAvailable } = spec.disruptionBudget ?? {};
  const { fewest, most } = replicaRange(spec);
  return enabled && (minAvailable === undefined ? most > 1 : fewest > 1);
}
