import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { SERVICE_ACCOUNTS } from '../../kubernetes/resources.ts';
import type { ShardPlan } from './plan.ts';
import { childMetadata } from './child-metadata.ts';

/**
 * An account of its own, without a token and without permissions. Its `secrets` and `imagePullSecrets` belong to the
 * platform.
 */
export function serviceAccount(plan: ShardPlan): KubernetesObject {
  return {
    apiVersion: SERVICE_ACCOUNTS.apiVersion,
    kind: SERVICE_ACCOUNTS.kind,
    metadata: childMetadata(plan),
    automountServiceAccountToken: false,
  };
}
