/** Pure: what was applied to an object before, and what that saves. */
import { contentHash, hashOf } from '../kubernetes/content-hash.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { isOlder } from '../kubernetes/resource-version.ts';
import { withoutManagedFields } from '../kubernetes/without-fields.ts';
import type { Applied } from './desired.ts';

/** What was applied to one object, and the result: while both stay, there is nothing to write. */
export interface ApplyMemory {
  readonly uid: string | undefined;
  readonly desired: string;
  readonly live: string;
  readonly resourceVersion: string | undefined;
  /** What the API server answered, until the caches show it. */
  written?: KubernetesObject | undefined;
  readonly refusal?: Refusal;
}

interface Refusal {
  readonly message: string;
  /** In milliseconds of the applier's clock, as `until`: the next attempt. */
  readonly since: number;
  readonly until: number;
}

type Live = KubernetesObject | undefined;

const memoryOf = (object: KubernetesObject, live: Live): Omit<ApplyMemory, 'written' | 'refusal'> => ({
  uid: live?.metadata.uid,
  desired: hashOf(object),
  live: liveHash(live),
  resourceVersion: live?.metadata.resourceVersion,
});

/** @param isLarge whether the result is too large to be held until the caches show it */
export function afterWrite(
  object: KubernetesObject,
  before: Live,
  result: KubernetesObject,
  isLarge = false,
): ApplyMemory {
  // Only what was changed comes back as a change of the caches.
  const isChanged = result.metadata.resourceVersion !== before?.metadata.resourceVersion;
  return { ...memoryOf(object, result), written: isChanged && !isLarge ? withoutManagedFields(result) : undefined };
}

export const afterRefusal = (object: KubernetesObject, live: Live, refusal: Refusal): ApplyMemory => ({
  ...memoryOf(object, live),
  refusal,
});

/** The outcome of the last attempt, when another one could bring nothing new. */
export function recall(
  memory: ApplyMemory | undefined,
  object: KubernetesObject,
  live: Live,
  now: number,
): Pick<Applied, 'outcome' | 'message' | 'object'> | undefined {
  if (memory === undefined || memory.desired !== hashOf(object) || memory.uid !== live?.metadata.uid) return undefined;
  // A cache that is behind shows what was there before our own write; its news will come.
  const behind = isOlder(live?.metadata.resourceVersion, memory.resourceVersion);
  if (!behind && memory.live !== liveHash(live)) return undefined;
  // Without `delete`, which would turn thousands of these into hash tables.
  if (!behind) memory.written = undefined;
  // The object from before would show pods that were made from another spec.
  if (memory.refusal === undefined) return { outcome: 'unchanged', object: memory.written ?? live };
  if (now >= memory.refusal.until) return undefined;
  return { outcome: 'refused', message: memory.refusal.message, object: live };
}

export const liveHash = (live: Live): string => (live === undefined ? '' : contentHash(live));
