/** Pure: what was observed of a McpToolLock → its status. */
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import type { McpToolLockStatus } from '../../../crds/v1alpha1/mcp-tool-lock.ts';
import { shortened } from '../../health/pod-problems.ts';
import type { Rollout } from '../../health/rollout.ts';
import { visibleName } from '../../health/visible-name.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { CachedLock, LockRefusal } from './cached-lock.ts';
import type { Comparison } from './comparison.ts';

/** What there is of the adapter that a lock names. */
export interface AdapterOfLock {
  readonly isAccepted: boolean;
  readonly paused: boolean;
  /** Digest on the ConfigMap. */
  readonly liveDigest: string | undefined;
  readonly rollout: Rollout;
  /** Pods that have not been told of this digest. */
  readonly unannotated: number;
  /** Whether all pods that may answer have been asked. */
  readonly isHealthKnown: boolean;
  readonly comparison: Comparison;
}

export interface LockReportInputs {
  readonly lock: CachedLock;
  /** Name of the adapter. */
  readonly name: string;
  /** The older lock that the adapter has instead. */
  readonly rival: string | undefined;
  /** Undefined: there is none of this name. */
  readonly adapter: AdapterOfLock | undefined;
}

/** A status whose conditions have no times yet. */
export type LockReport = Omit<McpToolLockStatus, 'conditions'> & { readonly conditions: readonly DesiredCondition[] };

export function lockReport(inputs: LockReportInputs): LockReport {
  const { lock, name, rival, adapter } = inputs;
  const refusal = rival === undefined ? lock.content.refusal : rivalry(name, rival);
  const before = lock.status ?? {};
  const ready = readyOf(inputs, refusal);
  return {
    observedGeneration: lock.metadata.generation ?? 0,
    conditions: [accepted(refusal), ready, ...kstatus(refusal, ready)],
    adapters: adapter === undefined || rival !== undefined ? [] : [name],
    ...(refusal === undefined ? { digest: lock.content.digest } : {}),
    ...(adapter === undefined || rival !== undefined ? {} : outcome(adapter, before)),
  };
}

const rivalry = (name: string, rival: string): LockRefusal => ({
  reason: 'AdapterLocked',
  message: `The McpAdapter ${name} has the lock ${rival}, which is older. Delete one of the two, or name another adapter`,
});

const condition = (
  type: string,
  status: DesiredCondition['status'],
  reason: string,
  message: string,
): DesiredCondition => ({ type, status, reason, message });

const accepted = (refusal: LockRefusal | undefined): DesiredCondition =>
  refusal === undefined
    ? condition('Accepted', 'True', 'Accepted', 'The lock can be used')
    : condition('Accepted', 'False', refusal.reason, refusal.message);

function readyOf({ lock, name, adapter }: LockReportInputs, refusal: LockRefusal | undefined): DesiredCondition {
  const found = readyNow(lock, name, adapter, refusal);
  const before = lock.status?.conditions?.find(({ type }) => type === 'Ready');
  // Pods come and go; that is no news of the lock.
  const wasReady = before?.status === 'True' && before.observedGeneration === lock.metadata.generation;
  return found.reason === 'Progressing' && wasReady ? asBefore(before) : found;
}

const asBefore = ({ type, status, reason, message }: Condition): DesiredCondition => ({
  type,
  status,
  reason,
  message,
});

function readyNow(
  { content, metadata }: CachedLock,
  name: string,
  adapter: AdapterOfLock | undefined,
  refusal: LockRefusal | undefined,
): DesiredCondition {
  const unknown = (reason: string, message: string): DesiredCondition => condition('Ready', 'Unknown', reason, message);
  if (refusal !== undefined) return unknown(refusal.reason, 'Nothing is compared with it: see condition Accepted');
  if (adapter === undefined) {
    return unknown('AdapterNotFound', `There is no McpAdapter ${name} in the namespace ${metadata.namespace ?? ''}`);
  }
  const { isAccepted, paused, liveDigest, rollout, unannotated, isHealthKnown, comparison } = adapter;
  if (liveDigest !== content.digest) {
    if (!isAccepted) return unknown('AdapterNotAccepted', `The McpAdapter ${name} is not accepted; see its conditions`);
    if (paused) return unknown('AdapterPaused', `The McpAdapter ${name} is paused`);
    return unknown('Progressing', 'It is on its way to the pods');
  }
  const [problem] = comparison.problems;
  if (problem !== undefined) {
    return condition('Ready', 'False', 'LockNotRead', `Pods cannot read it: ${shortened(shown(problem))}`);
  }
  if (rollout.state !== 'complete') return unknown('Progressing', rollout.message);
  if (unannotated > 0 || !isHealthKnown) return unknown('Progressing', 'Pods are being told of it');
  if (comparison.silent.length > 0) {
    const message = `Pods say nothing of a lock yet: ${comparison.silent.join(', ')}. Do they run this version?`;
    return unknown('Progressing', message);
  }
  return condition('Ready', 'True', 'InForce', `The pods of ${name} compare what their servers list with it`);
}

const shown = (text: string): string => text.split(/\s+/).map(visibleName).join(' ');

/** Source: kstatus, "The abnormal-true conditions". Both are there only while they are true. */
function kstatus(refusal: LockRefusal | undefined, ready: DesiredCondition): DesiredCondition[] {
  if (refusal !== undefined) return [condition('Stalled', 'True', refusal.reason, refusal.message)];
  return ready.status === 'True' ? [] : [condition('Reconciling', 'True', ready.reason, ready.message)];
}

type Outcome = Pick<McpToolLockStatus, 'lastCompared' | 'drifted' | 'added' | 'removed' | 'pending'>;

/** What was known stays while no pod has compared anything; the time changes with the outcome only. */
function outcome({ comparison }: AdapterOfLock, before: McpToolLockStatus): Outcome {
  const { lastCompared, drifted, added, removed, pending } = before;
  const known = { lastCompared, drifted, added, removed, pending };
  if (!comparison.isKnown || comparison.comparedAt === undefined) return known;
  const { counts } = comparison;
  const now = { drifted: counts.drift, added: counts.new, removed: counts.removed, pending: [...comparison.pending] };
  const isSame =
    JSON.stringify(now) === JSON.stringify({ drifted, added, removed, pending: (pending ?? []).map(inOrder) });
  return isSame && lastCompared !== undefined
    ? known
    : { lastCompared: `${new Date(comparison.comparedAt).toISOString().slice(0, 19)}Z`, ...now };
}

/** Members in the order of `Comparison`: the API server sorts them. */
const inOrder = ({ server, kind, name, state, fields }: NonNullable<McpToolLockStatus['pending']>[number]) => ({
  server,
  ...(kind === undefined ? {} : { kind }),
  name,
  state,
  ...(fields === undefined ? {} : { fields }),
});
