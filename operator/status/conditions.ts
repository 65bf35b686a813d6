import type { Condition } from '../../crds/v1alpha1/conditions.ts';

/** A condition as a reconcile finds it. When it last changed is worked out from the one before. */
export interface DesiredCondition {
  readonly type: string;
  readonly status: Condition['status'];
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** Only where the condition is about an older generation than the one looked at. */
  readonly observedGeneration?: number;
}

/** Kubernetes' own limit for a condition's message, in characters. */
const MAX_MESSAGE = 32_768;

/**
 * The conditions as they are now: those found, in the order in which they were before, new ones at the end; others are
 * dropped. `lastTransitionTime` changes only with the status.
 * Source: Kubernetes API conventions, "Typical status properties".
 */
export function mergeConditions(
  before: readonly Condition[],
  found: readonly DesiredCondition[],
  generation: number | undefined,
  now: Date,
): Condition[] {
  const old = new Map(before.map((condition, place) => [condition.type, { condition, place }]));
  const placeOf = ({ type }: DesiredCondition): number => old.get(type)?.place ?? before.length;
  return [...found]
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map(({ type, status, reason, message, observedGeneration }) => {
      const previous = old.get(type)?.condition;
      return {
        type,
        status,
        observedGeneration: observedGeneration ?? generation,
        lastTransitionTime: previous?.status === status ? previous.lastTransitionTime : inSeconds(now),
        reason,
        message: message.slice(0, MAX_MESSAGE),
      };
    });
}

/** Conditions of `after` that say something else than before: new ones, and those with another status or reason. */
export function changedConditions(before: readonly Condition[], after: readonly Condition[]): Condition[] {
  return after.filter(
    ({ type, status, reason }) =>
      !before.some((one) => one.type === type && one.status === status && one.reason === reason),
  );
}

/** metav1.Time has no fractions. */
function inSeconds(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
