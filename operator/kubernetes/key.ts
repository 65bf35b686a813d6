import type { KubernetesObject } from './kubernetes.ts';

/** Names an object of a known kind, or a scrape group. Cluster-scoped objects have the namespace ''. */
export interface Key {
  readonly namespace: string;
  readonly name: string;
}

export const keyOf = ({ metadata }: KubernetesObject): Key => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

export const keyText = ({ namespace, name }: Key): string => `${namespace}/${name}`;
