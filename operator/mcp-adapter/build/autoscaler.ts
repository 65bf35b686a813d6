import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { AUTOSCALERS, DEPLOYMENTS } from '../../kubernetes/resources.ts';
import { CONTAINER, TARGET_CPU_PERCENT } from '../config/defaults.ts';
import { childMetadata } from '../config/labels.ts';

export function autoscaler(adapter: McpAdapter): KubernetesObject | undefined {
  const { autoscaling } = adapter.spec;
  if (autoscaling === undefined) return undefined;
  const { minReplicas = 1, maxReplicas, metrics, behavior } = autoscaling;
  const averageUtilization = autoscaling.targetCPUUtilizationPercentage ?? TARGET_CPU_PERCENT;
  return {
    apiVersion: AUTOSCALERS.apiVersion,
    kind: AUTOSCALERS.kind,
    metadata: childMetadata(adapter, adapter.metadata.name),
    spec: {
      scaleTargetRef: { apiVersion: DEPLOYMENTS.apiVersion, kind: DEPLOYMENTS.kind, name: adapter.metadata.name },
      minReplicas,
      maxReplicas,
      metrics: metrics?.length ? [...metrics] : [cpuOfAdapter(averageUtilization)],
      ...(behavior === undefined ? {} : { behavior }),
    },
  };
}

/** Of the adapter alone: that of whole pods is unknown as soon as one of their containers requests none. */
const cpuOfAdapter = (averageUtilization: number): object => ({
  type: 'ContainerResource',
  containerResource: { container: CONTAINER, name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});
