import { CONFIG_MAPS } from '../kubernetes/resources.ts';
import type { Key } from '../kubernetes/key.ts';
import { ownObject } from '../apply/family-objects.ts';
import { earlier } from '../controllers/reconciler.ts';
import { rolloutOf } from '../health/rollout.ts';
import { TOOL_LOCK } from '../pods/annotations.ts';
import type { Cluster } from './cluster.ts';
import { lockConfigMapName } from './config/labels.ts';
import { driftEvents } from './lock/drift-events.ts';
import { type AdapterOfLock, lockReport } from './lock/lock-report.ts';
import { type LocksOfAdapter, locksOfAdapter } from './lock/locks-of-adapter.ts';
import type { Observed } from './observe.ts';
import type { StatusInputs } from './status/report.ts';
import { unannotatedPods } from './annotate-pods.ts';

/** Digest of the lock in the ConfigMap, as our watch shows it. */
export const liveLockDigest = (observed: Observed): string | undefined =>
  ownObject(observed, CONFIG_MAPS, lockConfigMapName(observed.key.name))?.metadata.labels?.[TOOL_LOCK];

/** The locks that name the adapter of this key, whether it exists or not. */
export const locksOf = ({ namespace, name }: Key, cluster: Pick<Cluster, 'locks'>): LocksOfAdapter =>
  locksOfAdapter(name, cluster.locks.list(namespace));

/** Writes the status of each lock. @returns when to try again, where somebody else writes it too */
export async function reportLocks(
  key: Key,
  { chosen, others }: LocksOfAdapter,
  adapter: AdapterOfLock | undefined,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<number | undefined> {
  let retryAfterMs: number | undefined;
  for (const lock of chosen === undefined ? [] : [chosen, ...others]) {
    const rival = lock === chosen ? undefined : chosen?.metadata.name;
    const status = lockReport({ lock, name: key.name, rival, adapter });
    const written = await cluster.lockStatus.write(lock, status, signal);
    retryAfterMs = earlier(retryAfterMs, written.retryAfterMs);
  }
  return retryAfterMs;
}

/** What has begun to drift is told as Events of the adapter. */
export function recordDrift(
  { resource }: Observed,
  { chosen }: LocksOfAdapter,
  adapter: AdapterOfLock,
  cluster: Cluster,
) {
  if (chosen === undefined || !adapter.comparison.isKnown) return;
  for (const event of driftEvents(chosen.status?.pending ?? [], adapter.comparison)) {
    cluster.events.record(resource, event);
  }
}

export function adapterOfLock(
  observed: Observed,
  { chosen }: LocksOfAdapter,
  { deployment, applyResult, paused, isHealthKnown, lock }: StatusInputs,
): AdapterOfLock | undefined {
  if (chosen === undefined || lock === undefined) return undefined;
  return {
    isAccepted: applyResult.kind !== 'refused',
    paused,
    liveDigest: liveLockDigest(observed),
    rollout: rolloutOf(deployment),
    unannotated: unannotatedPods(observed.pods, chosen.content.digest).length,
    isHealthKnown,
    comparison: lock.comparison,
  };
}
