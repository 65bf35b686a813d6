import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { INGRESSES } from '../runtime/resources.ts';
import { PORT_NAME } from './defaults.ts';
import { childMetadata } from './labels.ts';

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
