import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SERVICES } from '../../kubernetes/resources.ts';
import { PORT_NAME } from '../config/defaults.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { childMetadata, selectorOf } from '../config/labels.ts';

export const servicePort = ({ spec }: McpAdapter, config: EffectiveConfig): number => spec.service?.port ?? config.port;

export function service(adapter: McpAdapter, config: EffectiveConfig): KubernetesObject {
  const { type = 'ClusterIP', nodePort, labels, annotations } = adapter.spec.service ?? {};
  return {
    apiVersion: SERVICES.apiVersion,
    kind: SERVICES.kind,
    metadata: childMetadata(adapter, adapter.metadata.name, { labels, annotations }),
    spec: {
      type,
      selector: selectorOf(adapter),
      ports: [
        {
          name: PORT_NAME,
          port: servicePort(adapter, config),
          targetPort: PORT_NAME,
          protocol: 'TCP',
          // The API server refuses a port on the nodes for a Service that has none.
          ...(nodePort === undefined || type === 'ClusterIP' ? {} : { nodePort }),
        },
      ],
    },
  };
}
