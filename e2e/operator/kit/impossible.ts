/** Pure: what a status must never say, whatever happens around it. */
import { rolloutOf } from '../../../operator/health/rollout.ts';
import type { KubernetesObject } from '../../../operator/kubernetes/kubernetes.ts';
import type { McpAdapterStatus } from '../../../crds/v1alpha1/mcp-adapter.ts';

/** An object of a watch. Those of one history stand in the order in which they came, by kind. */
export interface Version {
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  readonly kind: string;
  readonly deleted: boolean;
  readonly object: KubernetesObject;
}

/** Versions between these two were not seen, of this or the other kind. */
export interface Gap {
  readonly after: string;
  readonly until: string;
}

/** So long may the status tell of pods that are gone: until the operator heard of it, on a busy machine. */
const LATE_MS = 30_000;

export function impossibleStatuses(versions: readonly Version[], gaps: readonly Gap[], now: number): string[] {
  const adapters = versions.filter(({ kind }) => kind === 'McpAdapter');
  const deployments = versions.filter(({ kind }) => kind === 'Deployment');
  return [...Map.groupBy(adapters, ({ object }) => object.metadata.name)].flatMap(([name, own]) => {
    const ofIt = deployments.filter(({ object }) => object.metadata.name === name);
    const alive = own.filter(({ deleted }) => !deleted);
    return [
      ...alive.flatMap(inItself),
      ...alive.slice(1).flatMap((version, index) => afterAnother(alive[index] as Version, version, gaps)),
      ...alive.flatMap((version, index) => withPods(version, alive[index - 1], ofIt, gaps)),
      ...hashes(alive),
      ...stale(alive, ofIt, now),
    ].map((sentence) => `${name}: ${sentence}`);
  });
}

const statusOf = ({ object }: Version): McpAdapterStatus => object['status'] ?? {};

type Condition = NonNullable<McpAdapterStatus['conditions']>[number];

const find = (version: Version, type: string): Condition | undefined =>
  statusOf(version).conditions?.find((condition) => condition.type === type);

const versionOf = ({ object }: Version): bigint => BigInt(object.metadata.resourceVersion ?? '0');

const named = (version: Version): string => `version ${versionOf(version)}`;

/** `Ready` at the generation that the status is about. */
function readyNow(version: Version): Condition | undefined {
  const ready = find(version, 'Ready');
  return ready?.status === 'True' && ready.observedGeneration === version.object.metadata.generation
    ? ready
    : undefined;
}

function inItself(version: Version): string[] {
  const { generation = 0 } = version.object.metadata;
  const {
    observedGeneration = 0,
    conditions = [],
    readyReplicas = 0,
    replicas = 0,
    url,
    configHash,
  } = statusOf(version);
  const wrong: string[] = [];
  const say = (text: string): void => void wrong.push(`${text} (${named(version)})`);
  if (observedGeneration > generation) say(`the status is of generation ${observedGeneration}, the spec ${generation}`);
  for (const one of conditions) {
    if ((one.observedGeneration ?? 0) > observedGeneration) say(`${one.type} is ahead of the status`);
  }
  const ready = readyNow(version);
  if (ready !== undefined && ready.reason !== 'ScaledToZero') {
    if (readyReplicas === 0 || readyReplicas < replicas) say(`ready with ${readyReplicas} of ${replicas} pods`);
    if (url === undefined) say('ready without an address');
    if (configHash === undefined) say('ready, and the configuration of the pods is not known');
    for (const type of ['Stalled', 'Reconciling']) if (find(version, type) !== undefined) say(`ready and ${type}`);
    if (find(version, 'Progressing')?.status === 'True') say('ready and progressing');
  }
  if (url !== undefined && replicas === 0) say('an address without pods');
  return wrong;
}

function afterAnother(before: Version, version: Version, gaps: readonly Gap[]): string[] {
  if (before.object.metadata.uid !== version.object.metadata.uid) return [];
  const wrong: string[] = [];
  const say = (text: string): void => void wrong.push(`${text} (${named(version)})`);
  if ((statusOf(version).observedGeneration ?? 0) < (statusOf(before).observedGeneration ?? 0)) {
    say('the status went back to an earlier generation');
  }
  for (const { type, status, lastTransitionTime } of statusOf(version).conditions ?? []) {
    const known = find(before, type);
    if (known === undefined) continue;
    // Between two that say the same, one may have said something else that nobody saw.
    const isSame = known.status === status && !isGapBetween(before, version, gaps);
    if (isSame && known.lastTransitionTime !== lastTransitionTime) say(`${type} got a new time`);
    if (Date.parse(lastTransitionTime) < Date.parse(known.lastTransitionTime)) say(`${type} went back in time`);
  }
  return wrong;
}

function isGapBetween(before: Version, version: Version, gaps: readonly Gap[]): boolean {
  return gaps.some(({ after, until }) => BigInt(after) < versionOf(version) && BigInt(until) > versionOf(before));
}

/** Whoever says "ready" has seen a complete Deployment of that configuration since the status before. */
function withPods(
  version: Version,
  before: Version | undefined,
  deployments: readonly Version[],
  gaps: readonly Gap[],
): string[] {
  const ready = readyNow(version);
  const known = before && readyNow(before);
  const isNew = ready !== undefined && ready.observedGeneration !== known?.observedGeneration;
  if (!isNew || before === undefined) return [];
  // What it was said of may be among the versions that nobody saw.
  if (isGapBetween(before, version, gaps)) return [];
  const possible = deployments.filter((one, index) => {
    const next = deployments[index + 1];
    return versionOf(one) < versionOf(version) && (next === undefined || versionOf(next) > versionOf(before));
  });
  const { configHash } = statusOf(version);
  const isBasis = possible.some(
    (one) => !one.deleted && rolloutOf(one.object).state === 'complete' && hashIn(one) === configHash,
  );
  return isBasis ? [] : [`says ready of generation ${ready.observedGeneration}, which no pods ran (${named(version)})`];
}

function hashIn({ object }: Version): string | undefined {
  const spec = object['spec'] as { template: { metadata: { annotations?: Record<string, string> } } };
  return spec.template.metadata.annotations?.['mcpadapter.io/config-hash'];
}

/** One generation has one configuration. */
function hashes(versions: readonly Version[]): string[] {
  const ready = versions.filter((version) => readyNow(version)?.reason === 'Ready');
  const groups = Map.groupBy(ready, ({ object }) => `${object.metadata.uid} ${object.metadata.generation}`);
  return [...groups.values()].flatMap((group) => {
    const found = new Set(group.map((version) => statusOf(version).configHash));
    const { generation } = group[0]?.object.metadata ?? {};
    return found.size > 1 ? [`ready with several configurations at generation ${generation}`] : [];
  });
}

/** Ready although no pod has been available for a while. */
function stale(adapters: readonly Version[], deployments: readonly Version[], now: number): string[] {
  return deployments.flatMap((one, index) => {
    const serves = !one.deleted && (rolloutOf(one.object).available > 0 || rolloutOf(one.object).wanted === 0);
    // Only the first of those in a row, to the end of the row.
    const previous = deployments[index - 1];
    if (serves || (previous !== undefined && rolloutOf(previous.object).available === 0)) return [];
    const until = deployments.slice(index).find(({ object }) => rolloutOf(object).available > 0)?.at ?? now;
    const late = adapters.find((version, place) => {
      const next = adapters[place + 1]?.at ?? now;
      return readyNow(version) !== undefined && Math.min(next, until) - Math.max(version.at, one.at) > LATE_MS;
    });
    return late === undefined ? [] : [`ready for more than ${LATE_MS} ms without pods (${named(late)})`];
  });
}
