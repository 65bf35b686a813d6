import type { Condition } from '../../crds/v1alpha1/conditions.ts';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import { valueAt } from '../../lib/json/tree.ts';
import { Budget, RESOURCE_MS } from '../tasks/budget.ts';
import { RefusedError } from '../tasks/refused-error.ts';
import type { Subject } from '../tasks/task.ts';
import { newestPods, referencesRevision } from '../health/revision.ts';
import type { ApplyReport, Desired } from '../apply/desired.ts';
import { messagesOf, ownObject } from '../apply/family-objects.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import type { Key } from '../kubernetes/key.ts';
import { type Result, earlier } from '../controllers/reconciler.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { contestEvents } from '../pods/contest-events.ts';
import { withGrownClaims } from '../pods/grown-claims.ts';
import { CONFIG_MAPS, DEPLOYMENTS, STORAGE_CLAIMS } from '../kubernetes/resources.ts';
import { conditionEvents } from './status/condition-events.ts';
import type { Child } from './build/build.ts';
import type { Checked } from './check/check.ts';
import type { Cluster } from './cluster.ts';
import type { EffectiveConfig } from './config/effective-config.ts';
import { configMapName, lockConfigMapName, storageClaimName } from './config/labels.ts';
import { recordAmong } from './config/settled-config.ts';
import { lockConfigMapOf } from './lock/lock-config-map.ts';
import { lockedNames } from './lock/locked-names.ts';
import { lockPlan, type LockPlan, type LocksOfAdapter } from './lock/locks-of-adapter.ts';
import { type Observed, observe } from './observe.ts';
import { requeueInterval } from './status/requeue-interval.ts';
import { problemsText } from '../validation/problems-text.ts';
import { DRIFT } from './status/lock-condition.ts';
import { adapterOfLock, liveLockDigest, locksOf, reportLocks, recordDrift } from './report-locks.ts';
import { type ApplyResult, report, type StatusInputs } from './status/report.ts';
import { annotatePods } from './annotate-pods.ts';
import { statusInputsOf } from './status-inputs.ts';
import { BUILD, CHECK, type FoundService } from './tasks.ts';

/** Brings what a McpAdapter consists of to what its spec says, and its status to what is so. */
export async function reconcile(key: Key, cluster: Cluster, signal: AbortSignal): Promise<Result> {
  const observed = await observe(key, cluster, signal);
  const locks = locksOf(key, cluster);
  if (observed === undefined) {
    forget(key, cluster); // owner references collect the rest
    return { requeueAfterMs: await reportLocks(key, locks, undefined, cluster, signal) };
  }

  await retainClaim(observed, cluster, signal);
  const plan = lockPlan(locks, liveLock(observed));
  const { checked, children, config, warnings } = await evaluate(observed, plan, cluster, signal);
  const paused = isPaused(checked);
  const family = plan === 'keep' ? withoutLock(observed) : observed;
  const applied =
    children === undefined || !checked.ok
      ? undefined
      : await cluster.applier.apply(
          withGrownClaims([...lockOf(checked.adapter, locks, plan, cluster), ...children], observed.existing),
          family,
          signal,
        );
  const applyResult: ApplyResult = checked.ok
    ? applyResultOf(applied)
    : { kind: 'refused', reason: checked.reason, message: problemsText(checked.problems) };

  const shown = [...warnings, ...lockWarnings(observed, locks)];
  const nameOf = await lockedNames(locks.chosen, observed.health, cluster.api, signal);
  const lock = { locks, lockPlan: plan, nameOf };
  const outcome = { observed, checked, config, warnings: shown, applyResult, paused, applied, ...lock };
  const inputs = statusInputsOf(outcome, cluster);
  const status = report(inputs);
  const { changed, retryAfterMs } = await cluster.status.write(observed.resource, status, signal);
  for (const event of [...conditionEvents(changed.filter(isToldAsCondition(locks))), ...contestEvents(applied)])
    cluster.events.record(observed.resource, event);
  const lockRetryMs = await afterwards(observed, locks, inputs, cluster, signal);
  if (applied?.failure !== undefined) throw applied.failure;
  return { requeueAfterMs: earlier(earlier(retryAfterMs, lockRetryMs), requeueInterval(inputs, status, applied)) };
}

/** What drifts from a McpToolLock is told one by one. */
const isToldAsCondition =
  ({ chosen }: LocksOfAdapter) =>
  ({ type, reason }: Condition): boolean =>
    chosen === undefined || type !== 'ToolsMatchLock' || reason !== DRIFT;

/**
 * Brings a lock that has been applied to the pods, and tells what comes of it, also where they could not be told: the
 * kubelet brings it all the same, later. @returns when to try again
 */
async function afterwards(
  observed: Observed,
  locks: LocksOfAdapter,
  inputs: StatusInputs,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<number | undefined> {
  const digest = locks.chosen?.content.digest;
  const isLive = digest !== undefined && digest !== '' && liveLockDigest(observed) === digest;
  let retryAfterMs: number | undefined;
  try {
    if (isLive) await annotatePods(cluster.api, observed.pods, digest, signal);
  } finally {
    const adapter = adapterOfLock(observed, locks, inputs);
    // Before the status, which says what is known: an Event that is lost would never come again.
    if (adapter !== undefined) recordDrift(observed, locks, adapter, cluster);
    retryAfterMs = await reportLocks(observed.key, locks, adapter, cluster, signal);
  }
  return retryAfterMs;
}

interface Evaluated {
  readonly checked: Checked;
  /** What of the configuration is known; undefined when it is not valid. */
  readonly config?: EffectiveConfig;
  readonly warnings: readonly string[];
  /** What is wanted; undefined when nothing is to be applied. */
  readonly children?: Child[];
}

/** Check and build; a resource that cannot be worked on, or not in the time that one may take, is invalid. */
async function evaluate(observed: Observed, plan: LockPlan, cluster: Cluster, signal: AbortSignal): Promise<Evaluated> {
  const { uid, generation } = observed.resource.metadata;
  const subject = { id: `${uid} ${generation}`, path: 'spec', budget: new Budget(RESOURCE_MS), signal };
  try {
    const resource = withoutStatus(observed.resource);
    const served = { httpRoutes: observed.serves.httpRoutes, existingClaimModes: accessModes(observed) };
    const question = { resource, served, permissions: cluster.settings.permissions };
    const answer = await cluster.taskRunner.run(CHECK, question, subject);
    if (!answer.ok) return { checked: answer, warnings: [] };
    const adapter = observed.resource as unknown as McpAdapter;
    const known = { checked: { ok: true, adapter } as const, config: answer.config, warnings: answer.warnings };
    if (isPaused(known.checked)) return known;
    return { ...known, children: await desired(adapter, observed, plan, cluster, subject, signal) };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { checked: { ok: false, reason: 'InvalidSpec', problems: [error.problem] }, warnings: [] };
  }
}

const withoutStatus = ({ apiVersion, kind, metadata, spec }: KubernetesObject): KubernetesObject => ({
  apiVersion,
  kind,
  metadata,
  spec,
});

const liveLock = (observed: Observed): KubernetesObject | undefined =>
  ownObject(observed, CONFIG_MAPS, lockConfigMapName(observed.key.name));

/** What is not there is not pruned. */
const withoutLock = (observed: Observed): Observed => ({
  ...observed,
  existing: observed.existing.filter(({ object }) => object !== liveLock(observed)),
});

function lockWarnings({ resource }: Observed, { chosen }: LocksOfAdapter): string[] {
  const own = valueAt(resource, ['spec', 'config', 'core', 'tool_lock']);
  if (chosen === undefined || own === undefined || own === null) return [];
  return [`spec.config.core.tool_lock has no effect beside the McpToolLock ${chosen.metadata.name}`];
}

/** Its ConfigMap, before all that mounts it. */
const lockOf = (adapter: McpAdapter, { chosen }: LocksOfAdapter, plan: LockPlan, { api }: Cluster): Desired[] =>
  plan === 'apply' && chosen !== undefined ? [lockConfigMapOf(adapter, chosen, api)] : [];

const isPaused = (checked: Checked): boolean => checked.ok && checked.adapter.spec.paused === true;

/** Also while nothing else is applied: whoever deletes the resource then relies on the policy that it shows. */
async function retainClaim(observed: Observed, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const { resource, existing, ownership } = observed;
  if (textAt(resource, 'spec', 'deletionPolicy') === 'Delete') return;
  const isOwned = ({ metadata }: KubernetesObject): boolean =>
    (metadata.ownerReferences ?? []).some(({ uid }) => uid === resource.metadata.uid);
  const claims = existing.filter((one) => one.resource === STORAGE_CLAIMS && isOwned(one.object));
  for (const claim of claims) await cluster.applier.disown(claim, ownership, signal);
}

function forget(key: Key, cluster: Cluster): void {
  cluster.applier.forget(key);
  cluster.handshakes.forget(key);
  cluster.podHealth.forget(key);
  cluster.status.forget(key);
}

/** Services that upstreams are reached by are looked up as build asks for them, until it has all that it wants. */
async function desired(
  adapter: McpAdapter,
  observed: Observed,
  plan: LockPlan,
  cluster: Cluster,
  subject: Subject,
  signal: AbortSignal,
): Promise<Child[]> {
  const deployment = ownObject(observed, DEPLOYMENTS, observed.key.name);
  const context = {
    image: cluster.settings.image,
    podSecurity: cluster.settings.podSecurity,
    serves: observed.serves,
    apiServer: cluster.settings.permissions.apiServer,
    referencesRevision: referencesRevision(deployment, newestPods(deployment, observed.pods), observed.health),
    existingClaimModes: accessModes(observed),
    isLocked: plan !== 'none',
    record: recordAmong({
      configMap: ownObject(observed, CONFIG_MAPS, configMapName(adapter)),
      deployment,
      claim: ownObject(observed, STORAGE_CLAIMS, storageClaimName(adapter)),
    }),
  };
  const resource = withoutStatus(adapter as unknown as KubernetesObject) as unknown as McpAdapter;
  const services: FoundService[] = [];
  for (;;) {
    const { children, missing } = await cluster.taskRunner.run(
      BUILD,
      { adapter: resource, context, services },
      subject,
    );
    if (missing.length === 0) return children;
    for (const key of missing) {
      const service = await cluster.services.get(key, signal);
      services.push({ key, service, isUnreadable: cluster.services.unreadable(key) });
    }
  }
}

function accessModes({ foreignClaim }: Observed): readonly string[] | undefined {
  const spec = foreignClaim?.['spec'] as { readonly accessModes?: readonly string[] } | undefined;
  return spec?.accessModes;
}

function applyResultOf(applied: ApplyReport | undefined): ApplyResult {
  const conflict = messagesOf(applied, 'conflict');
  if (conflict !== undefined) {
    const advice = 'Rename this resource, or delete the other object';
    return { kind: 'refused', reason: 'NameConflict', message: `${conflict}. ${advice}` };
  }
  const refused = messagesOf(applied, 'refused');
  if (refused !== undefined) return { kind: 'refused', reason: 'Refused', message: refused };
  const waiting = messagesOf(applied, 'waiting');
  return waiting === undefined ? { kind: 'applied' } : { kind: 'waiting', message: waiting };
}
