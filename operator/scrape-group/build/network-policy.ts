import { type EgressContext, egressRules } from '../../pods/egress.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { NETWORK_POLICIES } from '../../kubernetes/resources.ts';
import { childMetadata } from './child-metadata.ts';
import { shardSelector } from '../group/names.ts';
import type { ShardPlan } from './plan.ts';

/**
 * Pods may connect to what their sources and settings name and `spec.networkPolicy` adds, and everyone to their port. Where
 * only the pods know a name, they may connect to all but what nobody may reach.
 */
export function networkPolicy(plan: ShardPlan, context: EgressContext): KubernetesObject {
  const { port, connections } = plan.effective;
  const { extraEgress = [] } = plan.pod.networkPolicy ?? {};
  return {
    apiVersion: NETWORK_POLICIES.apiVersion,
    kind: NETWORK_POLICIES.kind,
    metadata: childMetadata(plan),
    spec: {
      podSelector: { matchLabels: shardSelector(plan.group, plan.shard) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ port, protocol: 'TCP' }] }],
      egress: [...egressRules(plan.namespace, connections, context), ...extraEgress],
    },
  };
}
