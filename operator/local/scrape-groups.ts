import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import { build } from '../scrape-group/build/build.ts';
import { type Group, groupNameOf, groupOf } from '../scrape-group/group/group.ts';
import { plan } from '../scrape-group/build/plan.ts';
import { preparing } from '../scrape-group/group/prepare.ts';
import type { Permissions } from '../validation/permissions.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import type { Manifest } from './manifests.ts';

/** The sources of one namespace and group, and what the cluster would make of them. */
export interface LocalGroup {
  readonly namespace: string;
  readonly name: string;
  readonly sources: readonly Manifest[];
  readonly group: Group;
  /** Of all shards. */
  objects(image: string, podSecurity: 'restricted' | 'openshift'): readonly KubernetesObject[];
}

/** The groups of all sources that have a usable shape, in the order of the files. */
export function groupsOf(manifests: readonly Manifest[], permissions: Permissions): LocalGroup[] {
  const prepare = preparing(permissions);
  const byGroup = Map.groupBy(manifests.filter(isSource), ({ object }) => {
    return `${object.metadata.namespace}/${groupNameOf(object as unknown as ApiScrapeSource)}`;
  });
  return [...byGroup].map(([key, sources]) => {
    const [namespace = '', name = ''] = key.split('/');
    // In files the order stands for the age.
    const group = groupOf(sources.map(sourceOf), { otlpEndpoint: undefined, running: () => undefined, prepare });
    return {
      namespace,
      name,
      sources,
      group,
      objects: (image, podSecurity) => {
        const context = { namespace, name, owners: [], shards: 0 };
        return build(plan(group, context), {
          ...context,
          image,
          podSecurity,
          apiServer: permissions.apiServer,
          services: () => undefined,
          referencesRevision: () => undefined,
        }).map(({ object }) => object);
      },
    };
  });
}

export function isSource({ object }: Manifest): boolean {
  const { spec } = object;
  return object.kind === 'ApiScrapeSource' && typeof spec === 'object' && spec !== null && 'source' in spec;
}

function sourceOf({ object }: Manifest, index: number): ApiScrapeSource {
  const creationTimestamp = new Date(index * 1000).toISOString();
  return { ...object, metadata: { ...object.metadata, creationTimestamp } } as unknown as ApiScrapeSource;
}
