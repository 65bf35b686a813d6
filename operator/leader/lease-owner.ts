import type { KubernetesApi, OwnerReference } from '../kubernetes/kubernetes.ts';
import { DEPLOYMENTS } from '../kubernetes/resources.ts';

/** The Deployment that bears the name of the Lease, as the chart has it; undefined when there is none. */
export async function leaseOwner(
  api: KubernetesApi,
  lease: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<OwnerReference | undefined> {
  const uid = (await api.get(DEPLOYMENTS, lease, signal))?.metadata.uid;
  if (uid === undefined) return undefined;
  return { apiVersion: DEPLOYMENTS.apiVersion, kind: DEPLOYMENTS.kind, name: lease.name, uid };
}
