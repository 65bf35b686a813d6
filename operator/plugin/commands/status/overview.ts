/** Pure: resources as one row each. */
import type { KubernetesObject } from '../../../kubernetes/kubernetes.ts';
import { isObject } from '../../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../../kubernetes/unstructured.ts';
import { table } from '../../output/table.ts';

export interface OverviewRow {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the condition `Ready`; of a source that of `SourcesHealthy` where it is not True. */
  readonly ready: string;
  readonly pods: string | null;
  readonly upstreams: string | null;
  readonly url: string | null;
  readonly paused: boolean;
  /** Why it is not as it should be. */
  readonly message: string | null;
}

/** Of what is wrong, the first is told: the others mostly follow from it. */
const TELLING = ['Accepted', 'Ready', 'UpstreamsHealthy', 'SourcesHealthy', 'StateStoreReady', 'ToolsMatchLock'];

export function conditionStatus(object: KubernetesObject, type: string): string {
  return textAt(conditionOf(object, type), 'status') ?? 'Unknown';
}

const conditionOf = (object: KubernetesObject, type: string): unknown =>
  listAt(object, 'status', 'conditions').find((one) => textAt(one, 'type') === type);

export function overview(object: KubernetesObject): OverviewRow {
  const { kind, metadata } = object;
  const wanted = numberAt(object, 'status', 'replicas');
  const wrong = TELLING.map((type) => conditionOf(object, type)).find((one) => isWrong(one));
  const spec: unknown = object['spec'];
  return {
    kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    ready: conditionStatus(object, 'Ready'),
    pods: wanted === undefined ? null : `${numberAt(object, 'status', 'readyReplicas') ?? 0}/${wanted}`,
    upstreams: textAt(object, 'status', 'upstreamsHealthy') ?? null,
    url: textAt(object, 'status', 'url') ?? null,
    paused: isObject(spec) && spec['paused'] === true,
    message: wrong === undefined ? null : `${textAt(wrong, 'reason')}: ${textAt(wrong, 'message')}`,
  };
}

/** What nobody has looked at yet is not wrong for people, and not yet as it should be. */
const isWrong = (condition: unknown): boolean => isObject(condition) && condition['status'] !== 'True';

export const isHealthy = ({ ready, message }: OverviewRow): boolean => ready === 'True' && message === null;

const MESSAGE_CHARS = 80;

export function overviewText(
  rows: readonly OverviewRow[],
  { all, isWide }: { readonly all: boolean; readonly isWide: boolean },
): string {
  if (rows.length === 0) return 'No McpAdapter and no ApiScrapeSource found.';
  const head = ['KIND', 'NAME', 'READY', 'PODS', 'UPSTREAMS', ...(isWide ? ['URL'] : []), 'MESSAGE'];
  const cells = rows.map((row) => {
    const message = `${row.paused ? 'paused. ' : ''}${row.message ?? ''}`;
    const shown = isWide || message.length <= MESSAGE_CHARS ? message : `${message.slice(0, MESSAGE_CHARS - 1)}…`;
    return [row.kind, row.name, row.ready, row.pods, row.upstreams, ...(isWide ? [row.url] : []), shown];
  });
  if (!all) return table(head, cells);
  return table(
    ['NAMESPACE', ...head],
    cells.map((cell, index) => [rows[index]?.namespace, ...cell]),
  );
}
