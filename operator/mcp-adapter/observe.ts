import type { KubernetesObject, Resource } from '../kubernetes/kubernetes.ts';
import type { Existing, Family } from '../apply/applier.ts';
import { type Ownership, standing } from '../apply/ownership.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import type { Key } from '../kubernetes/reconciler.ts';
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

export const familyOf = ({ key, ownership, existing }: Observed): Family => ({ key, ownership, existing });

/** Its own object of this kind and name, as the caches show it. */
export function ownChild(observed: Observed, resource: Resource, name: string): KubernetesObject | undefined {
  const found = observed.existing.find((one) => one.resource === resource && one.object.metadata.name === name);
  return found !== undefined && standing(found.object, observed.ownership) === 'ours' ? found.object : undefined;
}
