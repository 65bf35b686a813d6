import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import { Controller, type ControllerOptions } from '../runtime/controller.ts';
import type { KubernetesObject, Resource } from '../runtime/kubernetes.ts';
import type { Key } from '../runtime/reconciler.ts';
import type { WatchedCache } from '../runtime/watched-cache.ts';
import type { Cluster } from './cluster.ts';
import { groupNameOf } from './group.ts';
import { GROUP_LABEL } from './names.ts';
import { reconcile } from './reconcile.ts';

type Watched = Omit<Cluster, 'sources' | 'pods' | 'children'> & {
  readonly sources: WatchedCache;
  readonly pods: WatchedCache;
  readonly children: readonly { readonly resource: Resource; readonly cache: WatchedCache }[];
};

/** A controller whose keys are groups of ApiScrapeSources. The caller starts and stops it, and the caches. */
export function createScrapeGroupController(
  options: { readonly cluster: Watched } & Pick<ControllerOptions, 'log' | 'hooks' | 'concurrency' | 'resyncMs'>,
): Controller {
  const { cluster, ...rest } = options;
  const { sources, pods, children } = cluster;
  sources.subscribe(({ key, new: now }) => {
    if (now === undefined) cluster.status.forget(key);
  });
  return new Controller({
    ...rest,
    name: 'scrape-group',
    reconcile: (key, signal) => reconcile(key, cluster, signal),
    sources: [
      { cache: sources, keys: groupsOf },
      ...[pods, ...children.map(({ cache }) => cache)].map((cache) => ({ cache, keys: groupOfChild })),
    ],
    exists: ({ namespace, name }) =>
      sources.list(namespace).some((source) => groupNameOf(source as unknown as ApiScrapeSource) === name),
  });
}

/**
 * The group of a source, and the one that its status names: it may have moved while nobody looked. (While somebody
 * looks, the controller asks for the source before and after each change.)
 */
export function groupsOf(object: KubernetesObject): Key[] {
  const source = object as unknown as ApiScrapeSource;
  const { namespace = '' } = source.metadata;
  const names = new Set([groupNameOf(source), source.status?.group ?? groupNameOf(source)]);
  return [...names].map((name) => ({ namespace, name }));
}

function groupOfChild({ metadata: { namespace = '', labels } }: KubernetesObject): Key[] {
  const name = labels?.[GROUP_LABEL];
  return name === undefined ? [] : [{ namespace, name }];
}
