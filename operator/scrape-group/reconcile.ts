import { contestEvents } from '../pods/contest-events.ts';
import { withGrownClaims } from '../pods/grown-claims.ts';
import { newestPods, referencesRevision } from '../health/revision.ts';
import type { Desired } from '../apply/desired.ts';
import { ownObject } from '../apply/family-objects.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type Key, keyText } from '../kubernetes/key.ts';
import { type Result, done, earlier } from '../controllers/reconciler.ts';
import { DEPLOYMENTS } from '../kubernetes/resources.ts';
import { conditionEvents } from './status/condition-events.ts';
import { build } from './build/build.ts';
import type { BuildContext } from './build/build-context.ts';
import type { Cluster } from './cluster.ts';
import { type Group, groupOf } from './group/group.ts';
import { shardName } from './group/names.ts';
import { requeueInterval } from './status/requeue-interval.ts';
import { type Observed, observe, podsOf } from './observe.ts';
import { type ShardPlan, plan } from './build/plan.ts';
import { type StatusInputs, report } from './status/report.ts';
import { statusInputsOf } from './status-inputs.ts';

/** Statuses that are written at a time. */
const STATUS_WRITERS = 8;

/**
 * Brings what a group of ApiScrapeSources consists of to what they say together, and the status of each to what is so.
 * @param key namespace and name of the group
 */
export async function reconcile(key: Key, cluster: Cluster, signal: AbortSignal): Promise<Result> {
  const observed = observe(key, cluster);
  if (observed.sources.length === 0) return leave(observed, cluster, signal);

  const group = groupOf(observed.sources, {
    otlpEndpoint: cluster.settings.otlpEndpoint,
    running: observed.running,
    prepare: await cluster.prepare(observed.sources, signal),
  });
  const plans = plan(group, { ...key, owners: observed.ownership.owners, shards: observed.shards });
  const applied = mayApply(group)
    ? await cluster.applier.apply(
        withGrownClaims(await desired(plans, observed, cluster, signal), observed.existing),
        observed,
        signal,
      )
    : undefined;

  const allInputs = statusInputsOf({ observed, group, plans, applied, now: cluster.now() }, cluster);
  const queue = allInputs.values();
  let retryAfterMs: number | undefined;
  const writer = async (): Promise<void> => {
    for (const inputs of queue) retryAfterMs = earlier(await writeStatus(inputs, cluster, signal), retryAfterMs);
  };
  await Promise.all(Array.from({ length: STATUS_WRITERS }, writer));
  const [first] = observed.sources;
  for (const contest of contestEvents(applied)) cluster.events.record(first as unknown as KubernetesObject, contest);
  if (applied?.failure !== undefined) throw applied.failure;
  return { requeueAfterMs: earlier(retryAfterMs, requeueInterval(allInputs, observed.pods, applied, cluster.now())) };
}

/** With nothing to run, or somebody's wish that nothing changes, the pods stay as they are. */
const mayApply = ({ members, pausedBy, frozenBy }: Group): boolean =>
  members.length > 0 && pausedBy.length === 0 && frozenBy.length === 0;

/**
 * The last source of the group has gone. Where it was deleted, the garbage collector takes the objects away; where it
 * moved to another group, it still owns them, and nobody else would.
 */
async function leave(observed: Observed, cluster: Cluster, signal: AbortSignal): Promise<Result> {
  const { key, existing } = observed;
  const alive = new Set(cluster.sources.list(key.namespace).map(({ metadata }) => metadata.uid));
  const left = existing.filter(({ object }) => object.metadata.ownerReferences?.some(({ uid }) => alive.has(uid)));
  if (left.length > 0) await cluster.applier.apply([], { ...observed, existing: left }, signal);
  cluster.applier.forget(key);
  return done;
}

/** Services that URLs name are looked up as build asks for them, until it has all that it wants. */
async function desired(
  plans: readonly ShardPlan[],
  observed: Observed,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Desired[]> {
  const { key, ownership, shards } = observed;
  const revisions = new Map(plans.map(({ shard }) => [shard, revisionOf(observed, shard)]));
  const context: Omit<BuildContext, 'services'> = {
    ...key,
    image: cluster.settings.image,
    podSecurity: cluster.settings.podSecurity,
    apiServer: cluster.settings.permissions.apiServer,
    owners: ownership.owners,
    shards,
    referencesRevision: (shard) => revisions.get(shard),
    unreadable: (namespace, name) => cluster.services.unreadable({ namespace, name }),
  };
  const found = new Map<string, KubernetesObject | undefined>();
  for (;;) {
    const missing = new Map<string, Key>();
    const services = (namespace: string, name: string): KubernetesObject | undefined => {
      const text = keyText({ namespace, name });
      if (!found.has(text)) missing.set(text, { namespace, name });
      return found.get(text);
    };
    const objects = build(plans, { ...context, services });
    if (missing.size === 0) return objects;
    for (const [text, one] of missing) found.set(text, await cluster.services.get(one, signal));
  }
}

function revisionOf(observed: Observed, shard: number): string | undefined {
  const deployment = ownObject(observed, DEPLOYMENTS, shardName(observed.key.name, shard));
  return referencesRevision(deployment, newestPods(deployment, podsOf(observed, shard)), observed.health);
}

/** @returns when to try again, where somebody else writes this status too */
async function writeStatus(inputs: StatusInputs, cluster: Cluster, signal: AbortSignal): Promise<number | undefined> {
  const object = inputs.source as unknown as KubernetesObject;
  const { changed, retryAfterMs } = await cluster.status.write(object, report(inputs), signal);
  const before = inputs.source.status?.conditions ?? [];
  for (const event of conditionEvents(before, changed)) cluster.events.record(object, event);
  return retryAfterMs;
}
