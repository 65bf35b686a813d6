import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { egressRules } from '../../pods/egress.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { NETWORK_POLICIES } from '../../kubernetes/resources.ts';
import type { BuildContext } from './build-context.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { childMetadata, selectorOf } from '../config/labels.ts';

/**
 * Clients may connect to the port, Prometheus to that of metrics, and pods only to what the configuration names. Where only
 * the pods know a name, they may connect to all but what nobody may reach.
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
  return {
    apiVersion: NETWORK_POLICIES.apiVersion,
    kind: NETWORK_POLICIES.kind,
    metadata: childMetadata(adapter, name),
    spec: {
      podSelector: { matchLabels: selectorOf(adapter) },
      policyTypes: ['Ingress', 'Egress'],
      ...(incoming.length > 0 ? { ingress: [...incoming] } : {}),
      egress: [...egressRules(namespace, connections, context), ...extraEgress],
    },
  };
}
