/** Pure: one ApiScrapeSource with what the pods of its group say of it, on one page. */
import type { KubernetesObject } from '../../../kubernetes/kubernetes.ts';
import { isObject } from '../../../../lib/json/json-object.ts';
import { listAt, textAt } from '../../../kubernetes/unstructured.ts';
import { DEFAULT_GROUP } from '../../../scrape-group/group/group.ts';
import { SHARD_LABEL } from '../../../scrape-group/group/names.ts';
import { table } from '../../output/table.ts';
import { visible } from '../../output/visible.ts';
import { isReady } from '../../cluster/program-pods.ts';
import type { PodSaid } from './adapter-page.ts';

interface PodRow {
  readonly name: string;
  readonly shard: string | null;
  readonly ready: boolean;
  readonly phase: string;
  /** Why it says nothing of the source. */
  readonly error: string | null;
}

export interface SourcePage {
  readonly name: string;
  readonly namespace: string;
  readonly group: string;
  readonly conditions: readonly unknown[];
  readonly pods: readonly PodRow[];
  /** The pod that scrapes it; null where none says so. */
  readonly owner: string | null;
  /** As the pod says that scrapes it. Times are ISO 8601. */
  readonly state: Readonly<Record<string, unknown>> | null;
}

export function sourcePage(source: KubernetesObject, pods: readonly PodSaid[]): SourcePage {
  const states = pods.flatMap(({ pod, said }) => (isObject(said) ? [{ pod, status: said }] : []));
  const owner = states.find(({ status }) => status['owner'] === true);
  return {
    name: source.metadata.name,
    namespace: source.metadata.namespace ?? '',
    group: textAt(source, 'spec', 'group') ?? DEFAULT_GROUP,
    conditions: listAt(source, 'status', 'conditions'),
    pods: pods.map(podRow),
    owner: owner?.pod.metadata.name ?? null,
    state: owner?.status ?? null,
  };
}

const podRow = ({ pod, error }: PodSaid): PodRow => ({
  name: pod.metadata.name,
  shard: pod.metadata.labels?.[SHARD_LABEL] ?? null,
  ready: isReady(pod),
  phase: pod.metadata.deletionTimestamp === undefined ? (textAt(pod, 'status', 'phase') ?? 'Unknown') : 'Ending',
  error: error?.message ?? null,
});

export function sourceText({ name, namespace, group, conditions, pods, owner, state }: SourcePage): string {
  const head = visible(`ApiScrapeSource ${namespace}/${name}   group ${group}, scraped by ${owner ?? 'no pod'}`);
  const settings = table(
    ['CONDITION', 'STATUS', 'REASON', 'MESSAGE'],
    conditions.filter(isObject).map((one) => ['type', 'status', 'reason', 'message'].map((key) => textAt(one, key))),
  );
  const rows = pods.map((pod) => [pod.name, pod.shard, pod.ready ? 'yes' : 'no', pod.phase, pod.error]);
  const states = Object.entries(state ?? {})
    .filter(([key, value]) => key !== 'owner' && value !== null)
    .map(([key, value]) => [key.replaceAll('_', ' '), typeof value === 'string' ? value : JSON.stringify(value)]);
  const parts = [
    head,
    settings,
    table(['POD', 'SHARD', 'READY', 'PHASE', 'NOTE'], rows),
    table(['STATE', 'IS'], states),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}
