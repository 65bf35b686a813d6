/** Pure: whether the servers are what the tool lock says, put together. */
import { shortened } from '../../health/pod-problems.ts';
import { visibleName } from '../../health/visible-name.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { Comparison } from '../lock/comparison.ts';
import { driftText } from '../lock/drift-text.ts';

/** The McpToolLock that names the adapter. */
export interface LockInForce {
  readonly name: string;
  /** Why it cannot be used. */
  readonly refusal: string | undefined;
  /** Whether an earlier version of it is in the pods all the same. */
  readonly isKept: boolean;
}

export interface LockInputs {
  /** Undefined where the lock is a file of the adapter's own. */
  readonly lock: LockInForce | undefined;
  readonly comparison: Comparison;
}

const MOST = 10;
export const DRIFT = 'Drift';

/** @returns undefined as long as no server has been compared */
export function lockCondition({ lock, comparison }: LockInputs): DesiredCondition | undefined {
  const { pending, counts, problems, mode } = comparison;
  if (lock?.refusal !== undefined) {
    const meanwhile = lock.isKept ? 'What it was before stays in force' : 'No lock is in force';
    return condition('False', 'LockNotAccepted', `The McpToolLock ${lock.name}: ${lock.refusal}. ${meanwhile}`);
  }
  const [problem] = problems;
  if (problem !== undefined) {
    const message = `Pods cannot read their lock, and the last good one is in force: ${shortened(shown(problem))}`;
    return condition('False', 'LockNotRead', message);
  }
  if (!comparison.isKnown) return undefined;
  const drifting = pending.filter(({ state }) => state === 'drift').map(driftText);
  if (counts.drift > 0) {
    const fate = mode === 'audit' ? 'They are served and marked' : 'They are hidden, and calls are refused';
    const advice = `${fate} until the lock has them as they are now`;
    return condition('False', DRIFT, `Not as approved: ${listed(drifting, counts.drift)}. ${advice}`);
  }
  if (counts.removed > 0) {
    const gone = pending.filter(({ state }) => state === 'removed').map(driftText);
    return condition('False', 'Removed', `Gone, but named by the lock: ${listed(gone, counts.removed)}`);
  }
  if (counts.new > 0) {
    const added = pending.filter(({ state }) => state === 'new').map(driftText);
    return condition('True', 'NewDefinitions', `All that is locked is as it was. New: ${listed(added, counts.new)}`);
  }
  return condition('True', 'Matched', 'All that servers have listed is what the lock says');
}

const condition = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
  type: 'ToolsMatchLock',
  status,
  reason,
  message,
});

function listed(texts: readonly string[], count: number): string {
  const some = texts.slice(0, MOST);
  const more = count - some.length;
  const others =
    some.length === 0 ? `${count} definition${count === 1 ? '' : 's'} that pods do not name` : `${more} more`;
  return [...some, ...(more > 0 ? [others] : [])].join('; ');
}

/** Words of a file, line by line. */
const shown = (text: string): string => text.split(/\s+/).map(visibleName).join(' ');
