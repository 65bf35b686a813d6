import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SERVICES } from '../../kubernetes/resources.ts';
import { METRICS_PORT_NAME } from '../config/defaults.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { childMetadata, metricsServiceName, selectorOf } from '../config/labels.ts';

/**
 * Where Prometheus finds the pods. Not a port of the Service for clients, which may have one on every node, or an address
 * on the internet.
 */
export function metricsService(adapter: McpAdapter, { metrics }: EffectiveConfig): KubernetesObject | undefined {
  if (metrics === undefined) return undefined;
  return {
    apiVersion: SERVICES.apiVersion,
    kind: SERVICES.kind,
    metadata: childMetadata(adapter, metricsServiceName(adapter)),
    spec: {
      type: 'ClusterIP',
      // Each pod is asked by itself.
      clusterIP: 'None',
      selector: selectorOf(adapter),
      ports: [{ name: METRICS_PORT_NAME, port: metrics.port, targetPort: metrics.port, protocol: 'TCP' }],
    },
  };
}
