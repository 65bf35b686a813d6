import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { Existing } from '../apply/desired.ts';
import type { Ownership } from '../apply/ownership.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import type { Key } from '../kubernetes/key.ts';
import { HTTP_ROUTES, SERVICE_MONITORS } from '../kubernetes/resources.ts';
import type { Served } from './check/check.ts';
import type { Cluster } from './cluster.ts';
import { ADAPTER_LABEL } from './config/labels.ts';
import type { PodHealth } from './health/pod-health.ts';

/** A McpAdapter and what there is of it. */
export interface Observed {
  readonly key: Key;
  readonly resource: KubernetesObject;
  /** Objects with its labels. */
  readonly existing: readonly Existing[];
  readonly ownership: Ownership;
  readonly pods: readonly KubernetesObject[];
  readonly health: readonly PodHealth[];
  /** Whether all pods that may answer have been asked since they are there. */
  readonly isHealthKnown: boolean;
  /** `spec.storage.existingClaim`, where there is one. */
  readonly foreignClaim: KubernetesObject | undefined;
  readonly serves: Served & { readonly serviceMonitors: boolean };
}

/** Undefined when there is no such resource, or no longer. */
export async function observe(key: Key, cluster: Cluster, signal: AbortSignal): Promise<Observed | undefined> {
  const resource = cluster.adapters.get(key);
  if (resource === undefined || resource.metadata.deletionTimestamp !== undefined) return undefined;
  const { namespace, name } = key;
  const pods = cluster.pods.byLabel(ADAPTER_LABEL, namespace, name);
  const claimName = textAt(resource, 'spec', 'storage', 'existingClaim');
  const { health, isComplete } = cluster.podHealth.get(key, pods);
  const [foreignClaim, httpRoutes, serviceMonitors] = await Promise.all([
    claimName === undefined ? undefined : cluster.claims.get({ namespace, name: claimName }, signal),
    cluster.serves(HTTP_ROUTES, signal),
    cluster.serves(SERVICE_MONITORS, signal),
  ]);
  return {
    key,
    resource,
    existing: cluster.children.flatMap(({ resource, cache }) =>
      cache.byLabel(ADAPTER_LABEL, namespace, name).map((object) => ({ resource, object })),
    ),
    ownership: ownershipOf(resource),
    pods,
    health,
    isHealthKnown: isComplete,
    foreignClaim,
    serves: { httpRoutes, serviceMonitors },
  };
}

function ownershipOf({ apiVersion, kind, metadata }: KubernetesObject): Ownership {
  const { name, uid = '' } = metadata;
  return {
    owners: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
    labels: { 'app.kubernetes.io/managed-by': 'mcp-operator', [ADAPTER_LABEL]: name },
  };
}
