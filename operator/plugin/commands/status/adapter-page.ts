/** Pure: one McpAdapter with all that its pods say, on one page. */
import { valueAt } from '../../../../lib/json/tree.ts';
import type { KubernetesObject } from '../../../kubernetes/kubernetes.ts';
import { isObject } from '../../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../../kubernetes/unstructured.ts';
import { CONFIG_HASH } from '../../../pods/annotations.ts';
import { age, bytes, table } from '../../output/table.ts';
import { visible } from '../../output/visible.ts';

export interface PodSaid {
  readonly pod: KubernetesObject;
  /** What it answered to `/v1/status`; undefined where it was not asked, or did not. */
  readonly said?: unknown;
  readonly error?: Error;
}

interface PodRow {
  readonly name: string;
  readonly ready: boolean;
  readonly phase: string;
  readonly restarts: number;
  readonly version: string | null;
  readonly config_hash: string | null;
  readonly uptime_seconds: number | null;
  readonly not_ready: string | null;
  readonly limits_hit: number | null;
  readonly error: string | null;
}

interface UpstreamRow {
  readonly server: string;
  readonly pod: string;
  readonly status: string;
  readonly breaker: string;
  readonly revision: string | null;
  readonly tools: number | null;
  /** How many definitions differ from the tool lock; null without a lock. */
  readonly drift: number | null;
  readonly detail: string | null;
}

export interface AdapterPage {
  readonly name: string;
  readonly namespace: string;
  readonly url: string | null;
  readonly config_hash: string | null;
  readonly generation: number | null;
  readonly conditions: readonly unknown[];
  readonly pods: readonly PodRow[];
  readonly upstreams: readonly UpstreamRow[];
  /** Of all replicas, as the pod knows that told most. */
  readonly sessions: number | null;
  readonly in_flight: number | null;
  readonly uploads: { readonly count: number; readonly bytes: number } | null;
  readonly artifacts: { readonly count: number; readonly bytes: number } | null;
}

export function adapterPage(adapter: KubernetesObject, pods: readonly PodSaid[], now: Date): AdapterPage {
  const inventories = pods.map(({ said }) => valueAt(said, ['health', 'persistence', 'state_inventory']));
  const most = (member: string): number | null => {
    const known = inventories.flatMap((one) => numberAt(one, member) ?? []);
    return known.length === 0 ? null : Math.max(...known);
  };
  const files = (kind: string) => {
    const [count, size] = [most(`${kind}_count`), most(`${kind}_bytes`)];
    return count === null || size === null ? null : { count, bytes: size };
  };
  return {
    name: adapter.metadata.name,
    namespace: adapter.metadata.namespace ?? '',
    url: textAt(adapter, 'status', 'url') ?? null,
    config_hash: textAt(adapter, 'status', 'configHash') ?? null,
    generation: adapter.metadata.generation ?? null,
    conditions: listAt(adapter, 'status', 'conditions'),
    pods: pods.map((one) => podRow(one, now)),
    upstreams: pods.flatMap(upstreamRows),
    sessions: most('sessions_count'),
    in_flight: most('in_flight_count'),
    uploads: files('uploads'),
    artifacts: files('artifacts'),
  };
}

function podRow({ pod, said, error }: PodSaid, now: Date): PodRow {
  const { metadata } = pod;
  const statuses = listAt(pod, 'status', 'containerStatuses');
  const conditions = listAt(pod, 'status', 'conditions');
  const startedAt = textAt(pod, 'status', 'startTime');
  const sinceStart = startedAt === undefined ? null : (now.getTime() - Date.parse(startedAt)) / 1000;
  const [rate, concurrent] = ['rate', 'concurrent'].map((limit) => numberAt(said, 'limits_hit', limit));
  return {
    name: metadata.name,
    ready: conditions.some((one) => textAt(one, 'type') === 'Ready' && textAt(one, 'status') === 'True'),
    phase: metadata.deletionTimestamp === undefined ? (textAt(pod, 'status', 'phase') ?? 'Unknown') : 'Ending',
    restarts: statuses.reduce<number>((sum, one) => sum + (numberAt(one, 'restartCount') ?? 0), 0),
    version: textAt(said, 'version') ?? null,
    config_hash: metadata.annotations?.[CONFIG_HASH] ?? null,
    uptime_seconds: numberAt(said, 'uptime_seconds') ?? sinceStart,
    not_ready: textAt(said, 'not_ready') ?? null,
    limits_hit: rate === undefined || concurrent === undefined ? null : rate + concurrent,
    error: error?.message ?? null,
  };
}

function upstreamRows({ pod, said }: PodSaid): UpstreamRow[] {
  const more = new Map(listAt(said, 'servers').map((one) => [textAt(one, 'server_id'), one]));
  return listAt(said, 'health', 'servers').map((server) => {
    const id = textAt(server, 'server_id') ?? '';
    const other = more.get(id);
    const detail = textAt(server, 'ping', 'last_error') ?? textAt(server, 'ping', 'refused');
    return {
      server: id,
      pod: pod.metadata.name,
      status: textAt(server, 'status') ?? 'unknown',
      breaker: textAt(server, 'breaker', 'state') ?? 'unknown',
      revision: textAt(other, 'revision') ?? null,
      tools: numberAt(other, 'tools') ?? null,
      drift: driftOf(valueAt(said, ['health', 'tool_lock', 'servers', id])),
      detail: textAt(server, 'status') === 'ok' ? null : (detail ?? textAt(server, 'detail') ?? null),
    };
  });
}

/** What differs, what is new and what is missing, also beyond those that are named. */
function driftOf(report: unknown): number | null {
  if (!isObject(report)) return null;
  const sorts = ['drift', 'new', 'removed'];
  return sorts.reduce((sum, sort) => sum + listAt(report, sort).length + (numberAt(report, 'more', sort) ?? 0), 0);
}

export function adapterText(page: AdapterPage, isWide: boolean): string {
  const files = (what: AdapterPage['uploads']): string =>
    what === null ? 'unknown' : `${what.count} (${bytes(what.bytes)})`;
  const head = [
    `McpAdapter ${page.namespace}/${page.name}   ${page.url ?? 'not served yet'}`,
    `configuration ${page.config_hash ?? 'unknown'}, generation ${page.generation ?? 'unknown'}`,
    `sessions ${page.sessions ?? 'unknown'}, calls running ${page.in_flight ?? 'unknown'}, ` +
      `uploads ${files(page.uploads)}, artifacts ${files(page.artifacts)}`,
  ].map(visible);
  const conditions = table(
    ['CONDITION', 'STATUS', 'REASON', 'MESSAGE'],
    page.conditions
      .filter(isObject)
      .map((one) => ['type', 'status', 'reason', 'message'].map((key) => textAt(one, key))),
  );
  const pods = table(
    ['POD', 'READY', 'PHASE', 'RESTARTS', 'VERSION', 'CONFIG', 'UP', 'LIMITS HIT', 'NOTE'],
    page.pods.map((pod) => [
      pod.name,
      pod.ready ? 'yes' : 'no',
      pod.phase,
      pod.restarts,
      pod.version,
      pod.config_hash,
      pod.uptime_seconds === null ? null : age(pod.uptime_seconds),
      pod.limits_hit,
      pod.error ?? pod.not_ready,
    ]),
  );
  const upstreams = table(
    ['UPSTREAM', 'POD', 'STATUS', 'BREAKER', 'REVISION', 'TOOLS', 'DRIFT', 'DETAIL'],
    (isWide ? page.upstreams : together(page.upstreams)).map((one) => [
      one.server,
      one.pod,
      one.status,
      one.breaker,
      one.revision,
      one.tools,
      one.drift,
      one.detail,
    ]),
  );
  return [head.join('\n'), conditions, pods, upstreams].filter((part) => part !== '').join('\n\n');
}

/** One row for what all pods say alike. */
function together(rows: readonly UpstreamRow[]): UpstreamRow[] {
  const alike = Map.groupBy(rows, (row) => JSON.stringify({ ...row, pod: '' }));
  return [...alike.values()]
    .flatMap((group) => {
      const [first] = group;
      return first === undefined ? [] : [{ ...first, pod: group.length === 1 ? first.pod : `${group.length} pods` }];
    })
    .toSorted((a, b) => (a.server < b.server ? -1 : Number(a.server > b.server)));
}
