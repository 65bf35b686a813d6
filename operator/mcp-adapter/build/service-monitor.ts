import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SERVICE_MONITORS } from '../../kubernetes/resources.ts';
import { METRICS_PORT_NAME } from '../config/defaults.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { ADAPTER_LABEL, childMetadata, selectorOf } from '../config/labels.ts';

/** Nothing while the adapter serves no metrics: a target that is always down would only raise alarms. */
export function serviceMonitor(adapter: McpAdapter, { metrics }: EffectiveConfig): KubernetesObject | undefined {
  const { enabled = false, interval, labels } = adapter.spec.serviceMonitor ?? {};
  if (!enabled || metrics === undefined) return undefined;
  return {
    apiVersion: SERVICE_MONITORS.apiVersion,
    kind: SERVICE_MONITORS.kind,
    metadata: childMetadata(adapter, adapter.metadata.name, { labels }),
    spec: {
      // The series get the adapter's name as their job, rather than that of the Service.
      jobLabel: ADAPTER_LABEL,
      selector: { matchLabels: selectorOf(adapter) },
      endpoints: [{ port: METRICS_PORT_NAME, path: metrics.path, ...(interval === undefined ? {} : { interval }) }],
    },
  };
}
