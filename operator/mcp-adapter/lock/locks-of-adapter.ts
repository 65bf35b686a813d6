import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import type { CachedLock } from './cached-lock.ts';

/** The locks that name one adapter. */
export interface LocksOfAdapter {
  /** The oldest, which alone counts, whether it can be used or not. */
  readonly chosen: CachedLock | undefined;
  readonly others: readonly CachedLock[];
}

/** @param locks of the namespace of the adapter */
export function locksOfAdapter(name: string, locks: readonly KubernetesObject[]): LocksOfAdapter {
  const [chosen, ...others] = (locks as readonly CachedLock[])
    .filter(({ spec, metadata }) => spec.adapterRef?.name === name && metadata.deletionTimestamp === undefined)
    .toSorted(byAge);
  return { chosen, others };
}

/** In whole seconds; of one second, by name. */
function byAge({ metadata: a }: CachedLock, { metadata: b }: CachedLock): number {
  const age = Date.parse(a.creationTimestamp ?? '') - Date.parse(b.creationTimestamp ?? '');
  return age || (a.name < b.name ? -1 : 1);
}

/**
 * What becomes of the lock in the pods.
 * - `none`: there is none.
 * - `apply`: they get this one.
 * - `keep`: they keep the last one that could be used, as they do with a file that breaks.
 */
export type LockPlan = 'none' | 'apply' | 'keep';

/** @param live the ConfigMap with a lock, where there is one */
export function lockPlan({ chosen }: LocksOfAdapter, live: KubernetesObject | undefined): LockPlan {
  if (chosen === undefined) return 'none';
  if (chosen.content.refusal === undefined) return 'apply';
  return live === undefined ? 'none' : 'keep';
}
