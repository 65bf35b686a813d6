import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import { egressRules, unknownConnections } from '../pods/egress.ts';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { NETWORK_POLICIES } from '../runtime/resources.ts';
import type { BuildContext } from './build-context.ts';
import type { EffectiveConfig } from './effective-config.ts';
import { childMetadata, selectorOf } from './labels.ts';

/**
 * Clients may connect to the port, Prometheus to that of metrics, and pods only to what the configuration names. A name that only the pods know would
 * be cut off by any rule, so connections of the pods are not restricted then.
 */
export function networkPolicy(
  adapter: McpAdapter,
  { port, metrics, connections }: EffectiveConfig,
  context: BuildContext,
): KubernetesObject | undefined {
  const { enabled = true, ingress, extraEgress = [] } = adapter.spec.networkPolicy ?? {};
  if (!enabled) return undefined;
  const { name, namespace = 'default' } = adapter.metadata;
  const open = metrics === undefined ? [port] : [port, metrics.port];
  const incoming = ingress ?? [{ ports: open.map((one) => ({ port: one, protocol: 'TCP' })) }];
  const restricted = unknownConnections(connections).length === 0;
  return {
    apiVersion: NETWORK_POLICIES.apiVersion,
    kind: NETWORK_POLICIES.kind,
    metadata: childMetadata(adapter, name),
    spec: {
      podSelector: { matchLabels: selectorOf(adapter) },
      policyTypes: restricted ? ['Ingress', 'Egress'] : ['Ingress'],
      ...(incoming.length > 0 ? { ingress: [...incoming] } : {}),
      ...(restricted ? { egress: [...egressRules(namespace, connections, context), ...extraEgress] } : {}),
    },
  };
}
