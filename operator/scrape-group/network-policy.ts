import { type EgressContext, egressRules, unknownConnections } from '../pods/egress.ts';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { NETWORK_POLICIES } from '../runtime/resources.ts';
import { childMetadata } from './child-metadata.ts';
import { shardSelector } from './names.ts';
import type { ShardPlan } from './plan.ts';

/**
 * Pods may connect to what their sources and settings name and `spec.networkPolicy` adds, and everyone to their port. A
 * name that only the pods know would be cut off by any rule, so connections of the pods are not restricted then.
 */
export function networkPolicy(plan: ShardPlan, context: EgressContext): KubernetesObject {
  const { port, connections } = plan.effective;
  const { extraEgress = [] } = plan.pod.networkPolicy ?? {};
  const restricted = unknownConnections(connections).length === 0;
  return {
    apiVersion: NETWORK_POLICIES.apiVersion,
    kind: NETWORK_POLICIES.kind,
    metadata: childMetadata(plan),
    spec: {
      podSelector: { matchLabels: shardSelector(plan.group, plan.shard) },
      policyTypes: restricted ? ['Ingress', 'Egress'] : ['Ingress'],
      ingress: [{ ports: [{ port, protocol: 'TCP' }] }],
      ...(restricted ? { egress: [...egressRules(plan.namespace, connections, context), ...extraEgress] } : {}),
    },
  };
}
