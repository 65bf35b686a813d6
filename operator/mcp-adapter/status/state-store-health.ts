/** Pure: what the pods say of their state store, put together. */
import type { PodProblem } from '../../health/pod-problems.ts';
import type { Rollout } from '../../health/rollout.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { PodHealth } from '../health/pod-health.ts';

/** A reason of `Ready`. */
export const STATE_STORE_UNAVAILABLE = 'StateStoreUnavailable';

/** What keeps pods from serving when none of those that answer has its store; of `health` of the newest revision. */
export function stateStoreProblem(health: readonly PodHealth[], { available }: Rollout): PodProblem | undefined {
  if (health.length === 0 || health.some(({ stateStore }) => stateStore.healthy)) return undefined;
  const { message } = stateStoreCondition(health);
  return { reason: STATE_STORE_UNAVAILABLE, message, failing: available === 0 };
}

export function stateStoreCondition(health: readonly PodHealth[]): DesiredCondition {
  const type = 'StateStoreReady';
  const failing = health.filter(({ stateStore }) => !stateStore.healthy);
  if (failing.length === 0) return { type, status: 'True', reason: 'Ready', message: 'The state store answers' };
  const detail = failing.find(({ stateStore }) => stateStore.detail !== undefined)?.stateStore.detail;
  const pods = `${failing.length} of ${health.length} pod${health.length === 1 ? '' : 's'}`;
  const message =
    `The state store does not work for ${pods}${detail === undefined ? '' : ` (${detail})`}. ` +
    'Check spec.config.state_persistence and whether the store can be reached from the pods';
  return { type, status: 'False', reason: 'Unavailable', message };
}
