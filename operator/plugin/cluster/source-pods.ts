import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { API_SCRAPE_SOURCES, PODS } from '../../kubernetes/resources.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { textAt } from '../../kubernetes/unstructured.ts';
import { ADMIN_KEY_VARIABLE, ADMIN_PORT_VARIABLE, CONTAINER } from '../../scrape-group/group/defaults.ts';
import { DEFAULT_GROUP } from '../../scrape-group/group/group.ts';
import { GROUP_LABEL, SHARD_LABEL } from '../../scrape-group/group/names.ts';
import type { PodRequest } from './ask-pod.ts';
import type { Cluster } from './connect.ts';
import { ProblemError } from './failures.ts';
import { askProgram, isReady, isRunning, type Program } from './program-pods.ts';

const SCRAPER: Program = {
  container: CONTAINER,
  portVariable: ADMIN_PORT_VARIABLE,
  keyVariable: ADMIN_KEY_VARIABLE,
};

/** @throws ProblemError when there is none of this name */
export async function sourceOf({ api, namespace }: Cluster, name: string): Promise<KubernetesObject> {
  const found = await api.get(API_SCRAPE_SOURCES, { name, namespace });
  if (found === undefined) throw new ProblemError(`there is no ApiScrapeSource ${name} in the namespace ${namespace}`);
  return found;
}

/** The pods of a source's group, by their names. */
export async function groupPods({ api, namespace }: Cluster, source: KubernetesObject): Promise<KubernetesObject[]> {
  const group = textAt(source, 'spec', 'group') ?? DEFAULT_GROUP;
  const { items } = await api.list(PODS, { namespace, labelSelector: `${GROUP_LABEL}=${group}` });
  return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** What the pods call it. @throws ProblemError where only they know */
function nameIn(source: KubernetesObject): string {
  const name = textAt(source, 'spec', 'source', 'name') ?? '';
  if (name !== '' && !name.includes('${')) return name;
  throw new ProblemError(`only the pods know what the source ${source.metadata.name} is called there: ${name}`);
}

/** What a pod answers about a source. @throws ApiError, UnreachableError, ProblemError */
const askSourceIn = (
  cluster: Cluster,
  pod: KubernetesObject,
  source: KubernetesObject,
  { method, path = '', body }: SourceRequest,
): Promise<unknown> =>
  askProgram(cluster, pod, SCRAPER, {
    method,
    path: `/sources/${encodeURIComponent(nameIn(source))}${path}`,
    ...(body !== undefined && { body }),
  });

interface SourceRequest extends Pick<PodRequest, 'method' | 'body'> {
  /** Behind the source's own; with the query. */
  readonly path?: string;
}

const isUnknown = (error: unknown): boolean => error instanceof ProblemError && error.message === 'Source not found';

/** How a pod says that the source is; undefined where it has none of this name, as those of other shards. */
export async function sourceStatusIn(
  cluster: Cluster,
  pod: KubernetesObject,
  source: KubernetesObject,
): Promise<unknown> {
  try {
    const said = await askSourceIn(cluster, pod, source, { method: 'GET' });
    return isObject(said) ? said['status'] : undefined;
  } catch (error) {
    if (isUnknown(error)) return undefined;
    throw error;
  }
}

/** How a pod says that all its sources are. @throws ApiError, UnreachableError, ProblemError */
export const sourceStatuses = (cluster: Cluster, pod: KubernetesObject): Promise<unknown> =>
  askProgram(cluster, pod, SCRAPER, { method: 'GET', path: '/sources' });

/**
 * What a pod that has the source in its file answers about it. Any does, of those of its shard: the state is theirs together.
 * @throws ApiError, UnreachableError; ProblemError, also where no pod has it
 */
export async function askSource(cluster: Cluster, source: KubernetesObject, asked: SourceRequest): Promise<unknown> {
  const running = (await groupPods(cluster, source)).filter(isRunning);
  const byShard = Map.groupBy(running, ({ metadata }) => metadata.labels?.[SHARD_LABEL]);
  for (const pods of byShard.values()) {
    const pod = pods.find(isReady) ?? pods[0];
    if (pod === undefined) continue;
    try {
      return await askSourceIn(cluster, pod, source, asked);
    } catch (error) {
      if (!isUnknown(error)) throw error;
    }
  }
  const { name } = source.metadata;
  if (running.length === 0) throw new ProblemError(`no pod of the group of the source ${name} runs`);
  throw new ProblemError(`no pod runs the source ${name}; "status source/${name}" says why`);
}
