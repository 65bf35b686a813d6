/** Puts together what the reports of a group's sources are made from. */
import type { ApiScrapeSource } from '../../crds/v1alpha1/api-scrape-source.ts';
import { unknownConnections, widePorts } from '../pods/egress.ts';
import { podProblem } from '../health/pod-problems.ts';
import { newestPods } from '../health/revision.ts';
import { isOverdue, rolloutOf } from '../health/rollout.ts';
import type { ApplyReport } from '../apply/desired.ts';
import { liveObject, messagesOf } from '../apply/family-objects.ts';
import { DEPLOYMENTS, NETWORK_POLICIES } from '../kubernetes/resources.ts';
import type { ShardPlan } from './build/plan.ts';
import type { Cluster } from './cluster.ts';
import { fileHash } from './build/config-map.ts';
import type { Group } from './group/group.ts';
import { sourcesOf } from './status/health.ts';
import { shardName } from './group/names.ts';
import { type Observed, podsOf } from './observe.ts';
import type { StatusInputs } from './status/report.ts';
import { stateIsTemporary } from './build/state-volume.ts';
import { hiddenPlaces, redactedHealth } from './status/redacted-health.ts';

export interface Outcome {
  readonly observed: Observed;
  readonly group: Group;
  readonly plans: readonly ShardPlan[];
  /** Undefined when nothing was applied. */
  readonly applied: ApplyReport | undefined;
  readonly now: Date;
}

const MIN_INTERVAL_MS = 60_000;
/** So that all sources together make at most ten writes a second. */
const INTERVAL_PER_SOURCE_MS = 100;

/** One for each source, in the order in which they were observed. */
export function statusInputsOf(outcome: Outcome, cluster: Pick<Cluster, 'sources'>): StatusInputs[] {
  const { observed, group, plans, applied } = outcome;
  const shards = plans.map((one) => shardInputs(one, outcome));
  const placeOf = new Map(
    plans.flatMap(({ members }, index) =>
      members.map(({ resource, entry }) => [resource, { shard: shards[index], name: String(entry['name']) }] as const),
    ),
  );
  // Of sources that do not run, and of a group that is left as it is.
  const fallback = shards[0] ?? shardInputs({ shard: 1, file: undefined }, outcome);
  const intervalMs = Math.max(MIN_INTERVAL_MS, cluster.sources.list().length * INTERVAL_PER_SOURCE_MS);
  const common = {
    group: observed.key.name,
    failure: failureOf(applied),
    pausedBy: group.pausedBy,
    frozenBy: group.frozenBy,
    intervalMs,
  };
  const hidden = hiddenPlaces(plans.flatMap(({ effective }) => effective.connections));
  return observed.sources.map((source: ApiScrapeSource) => {
    const { name } = source.metadata;
    const place = placeOf.get(name);
    const { health, ...shard } = place?.shard ?? fallback;
    const reported = place && health.get(place.name);
    const path = hidden.get(name);
    return {
      ...common,
      ...shard,
      source,
      refusal: group.refusals.get(name),
      health: reported === undefined || path === undefined ? reported : redactedHealth(reported, source, path),
    };
  });
}

function shardInputs(one: Pick<ShardPlan, 'shard'> & (ShardPlan | { file: undefined }), outcome: Outcome) {
  const { observed, applied } = outcome;
  const { shard, file } = one;
  const name = shardName(observed.key.name, shard);
  const deployment = liveObject(observed, applied, DEPLOYMENTS, name);
  const rollout = rolloutOf(deployment);
  const newest = newestPods(deployment, podsOf(observed, shard));
  const names = new Set(newest.map(({ metadata }) => metadata.name));
  const health = observed.health.filter(({ pod }) => names.has(pod));
  return {
    rollout,
    overdue: isOverdue(rollout, outcome.now),
    problem: podProblem(newest, name),
    upToDate:
      health.length === 0 || file === undefined
        ? undefined
        : health.every(({ configHash }) => configHash === fileHash(file)),
    isHealthKnown: observed.isHealthKnown,
    unknownHosts:
      applied === undefined || file === undefined ? undefined : unknownConnections(one.effective.connections),
    widePorts: widePorts(liveObject(observed, applied, NETWORK_POLICIES, name)),
    health: sourcesOf(health),
    losesState: file !== undefined && stateIsTemporary(one),
  };
}

function failureOf(applied: ApplyReport | undefined): StatusInputs['failure'] {
  const conflict = messagesOf(applied, 'conflict');
  if (conflict !== undefined) {
    const message = `${conflict}. Choose another spec.group, or delete the other object`;
    return { reason: 'NameConflict', message, final: true };
  }
  const refused = messagesOf(applied, 'refused');
  if (refused !== undefined) return { reason: 'Refused', message: refused, final: true };
  const waiting = messagesOf(applied, 'waiting');
  return waiting === undefined ? undefined : { reason: 'Progressing', message: waiting, final: false };
}
