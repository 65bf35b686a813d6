import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { HTTP_ROUTES } from '../../kubernetes/resources.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { childMetadata } from '../config/labels.ts';
import { servicePort } from './service.ts';

/** Written with the defaults of the Gateway API, which its CRD would add. */
export function httpRoute(adapter: McpAdapter, config: EffectiveConfig): KubernetesObject | undefined {
  if (adapter.spec.httpRoute === undefined) return undefined;
  const { parentRefs, hostnames, annotations } = adapter.spec.httpRoute;
  const { name } = adapter.metadata;
  return {
    apiVersion: HTTP_ROUTES.apiVersion,
    kind: HTTP_ROUTES.kind,
    metadata: childMetadata(adapter, name, { annotations }),
    spec: {
      parentRefs: [...parentRefs],
      ...(hostnames?.length ? { hostnames: [...hostnames] } : {}),
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          backendRefs: [{ group: '', kind: 'Service', name, port: servicePort(adapter, config), weight: 1 }],
        },
      ],
    },
  };
}
