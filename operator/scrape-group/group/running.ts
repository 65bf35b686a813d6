import type { EnvFrom, EnvVar } from '../../../crds/v1alpha1/api.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import type { Member } from './prepare.ts';
import { readFile, renderEntry } from './scraper-file.ts';
import { variablePrefix } from './variables.ts';

/** What the pods of a group run now, as its live objects say. */
export interface Running {
  /** The section `scraper` of the file. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** By the name of the resource. */
  readonly members: ReadonlyMap<string, Member>;
}

export interface LiveShard {
  readonly configMap: KubernetesObject | undefined;
  readonly deployment: KubernetesObject | undefined;
}

/** Undefined when nothing runs, or someone else wrote the file. */
export function runningFrom(shards: readonly LiveShard[]): Running | undefined {
  const found = shards.flatMap(({ configMap, deployment }) => {
    const file = readFile(textAt(configMap, 'data', 'config.yaml') ?? '');
    return file === undefined ? [] : [{ file, container: containerOf(deployment) }];
  });
  const settings = found[0]?.file.scraper;
  if (settings === undefined) return undefined;
  const members = found.flatMap(({ file, container }) =>
    [...file.entries].map(([resource, entry]) => {
      const prefix = variablePrefix(resource);
      const env = (listAt(container, 'env') as readonly EnvVar[]).filter(({ name }) => owns(prefix, name));
      const envFrom = (listAt(container, 'envFrom') as readonly EnvFrom[]).filter((from) =>
        owns(prefix, from.prefix ?? ''),
      );
      return [resource, { resource, entry, text: renderEntry(resource, entry), env, envFrom }] as const;
    }),
  );
  return { settings, members: new Map(members) };
}

/** The first `__` ends the name of a resource. */
const owns = (prefix: string, name: string): boolean =>
  name.startsWith(prefix) && name.indexOf('__') === prefix.length - 2;

function containerOf(deployment: KubernetesObject | undefined): unknown {
  return listAt(deployment, 'spec', 'template', 'spec', 'containers').find((one) => textAt(one, 'name') === 'scraper');
}
