import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SERVICE_ACCOUNTS } from '../../kubernetes/resources.ts';
import { childMetadata } from '../config/labels.ts';

/**
 * An account of its own, without a token and without permissions. Its `secrets` and `imagePullSecrets` belong to the
 * platform: OpenShift makes new ones whenever somebody else writes these fields.
 */
export function serviceAccount(adapter: McpAdapter): KubernetesObject {
  return {
    apiVersion: SERVICE_ACCOUNTS.apiVersion,
    kind: SERVICE_ACCOUNTS.kind,
    metadata: childMetadata(adapter, adapter.metadata.name),
    automountServiceAccountToken: false,
  };
}
