import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { INGRESSES } from '../../kubernetes/resources.ts';
import { PORT_NAME } from '../config/defaults.ts';
import { childMetadata } from '../config/labels.ts';

export function ingress(adapter: McpAdapter): KubernetesObject | undefined {
  if (adapter.spec.ingress === undefined) return undefined;
  const { host, path = '/', className, tlsSecretName, annotations } = adapter.spec.ingress;
  const { name } = adapter.metadata;
  return {
    apiVersion: INGRESSES.apiVersion,
    kind: INGRESSES.kind,
    metadata: childMetadata(adapter, name, { annotations }),
    spec: {
      ...(className === undefined ? {} : { ingressClassName: className }),
      rules: [
        {
          host,
          http: { paths: [{ path, pathType: 'Prefix', backend: { service: { name, port: { name: PORT_NAME } } } }] },
        },
      ],
      ...(tlsSecretName === undefined ? {} : { tls: [{ hosts: [host], secretName: tlsSecretName }] }),
    },
  };
}
