import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import type { Existing } from '../apply/desired.ts';
import { ownObject } from '../apply/family-objects.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { Ownership } from '../apply/ownership.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import type { Key } from '../kubernetes/key.ts';
import { API_SCRAPE_SOURCES, CONFIG_MAPS, DEPLOYMENTS, STORAGE_CLAIMS } from '../kubernetes/resources.ts';
import type { Cluster } from './cluster.ts';
import { groupNameOf } from './group/group.ts';
import type { ScraperHealth } from './status/health.ts';
import { GROUP_LABEL, SHARD_LABEL, configMapName, shardIn, shardName } from './group/names.ts';
import { ownerReferences } from './group/owners.ts';
import { type Running, runningFrom } from './group/running.ts';

/** A group and what there is of it. */
export interface Observed {
  readonly key: Key;
  readonly sources: readonly ApiScrapeSource[];
  /** Objects with its labels. */
  readonly existing: readonly Existing[];
  readonly ownership: Ownership;
  readonly pods: readonly KubernetesObject[];
  readonly health: readonly ScraperHealth[];
  /** Whether all pods that may answer have been asked since they are there. */
  readonly isHealthKnown: boolean;
  /** Number of shards that exist. */
  readonly shards: number;
  /** What the pods run now; read when it is asked for. */
  readonly running: () => Running | undefined;
}

/** @param key namespace and name of the group */
export function observe(key: Key, cluster: Cluster): Observed {
  const { namespace, name } = key;
  const sources = (cluster.sources.list(namespace) as unknown as readonly ApiScrapeSource[]).filter(
    (source) => groupNameOf(source) === name && source.metadata.deletionTimestamp === undefined,
  );
  const existing = cluster.children.flatMap(({ resource, cache }) =>
    cache.byLabel(GROUP_LABEL, namespace, name).map((object) => ({ resource, object })),
  );
  const ownership: Ownership = {
    owners: ownerReferences(sources),
    labels: { 'app.kubernetes.io/managed-by': 'mcp-operator', [GROUP_LABEL]: name },
    ownerKind: { apiVersion: API_SCRAPE_SOURCES.apiVersion, kind: API_SCRAPE_SOURCES.kind },
  };
  const pods = cluster.pods.byLabel(GROUP_LABEL, namespace, name);
  // A claim outlives its shard.
  const shards = existing
    .filter(({ resource }) => resource !== STORAGE_CLAIMS)
    .reduce((most, { object }) => Math.max(most, shardIn(object.metadata.labels) ?? 0), 0);
  const observed = { key, sources, existing, ownership, pods, shards };
  const { health, isComplete } = cluster.podHealth.get(key, sources.length > 0 ? pods : []);
  let running: { readonly found: Running | undefined } | undefined;
  return {
    ...observed,
    health,
    isHealthKnown: isComplete,
    running: () => (running ??= { found: runningFrom(liveShards(observed)) }).found,
  };
}

type Family = Pick<Observed, 'key' | 'existing' | 'ownership' | 'shards'>;

const liveShards = (family: Family) =>
  Array.from({ length: family.shards }, (_, index) => ({
    configMap: ownObject(family, CONFIG_MAPS, configMapName(family.key.name, index + 1)),
    deployment: ownObject(family, DEPLOYMENTS, shardName(family.key.name, index + 1)),
  }));

/** Pods of one shard. */
export const podsOf = ({ pods }: Pick<Observed, 'pods'>, shard: number): readonly KubernetesObject[] =>
  pods.filter((pod) => textAt(pod, 'metadata', 'labels', SHARD_LABEL) === String(shard));
