import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { SERVICE_MONITORS } from '../runtime/resources.ts';
import { PORT_NAME } from './defaults.ts';
import { childMetadata, selectorOf } from './labels.ts';

export function serviceMonitor(adapter: McpAdapter): KubernetesObject | undefined {
  const { enabled = false, interval, labels } = adapter.spec.serviceMonitor ?? {};
  if (!enabled) return undefined;
  return {
    apiVersion: SERVICE_MONITORS.apiVersion,
    kind: SERVICE_MONITORS.kind,
    metadata: childMetadata(adapter, adapter.metadata.name, { labels }),
    spec: {
      selector: { matchLabels: selectorOf(adapter) },
      endpoints: [{ port: PORT_NAME, path: '/metrics', ...(interval === undefined ? {} : { interval }) }],
    },
  };
}
