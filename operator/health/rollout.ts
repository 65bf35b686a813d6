/** Pure: how far a Deployment has come. */
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { numberAt, textAt } from '../kubernetes/unstructured.ts';
import { conditionOf, shortened } from './pod-problems.ts';

/**
 * - `missing`: there is no Deployment.
 * - `complete`: every pod is of the newest revision and available.
 * - `stuck`: the Deployment controller has given up waiting (`progressDeadlineSeconds`).
 * - `refused`: pods cannot even be made, for example because of a quota; in time this is `stuck`.
 */
export type RolloutState = 'missing' | 'rolling' | 'complete' | 'stuck' | 'refused';

export interface Rollout {
  readonly state: RolloutState;
  /** A sentence for people. */
  readonly message: string;
  /** Why pods cannot be made. */
  readonly refusal?: string;
  readonly wanted: number;
  readonly updated: number;
  readonly available: number;
  /** Pods of older revisions that are still there. */
  readonly old: number;
  /** When waiting has lasted long enough, in milliseconds since the epoch; undefined while nothing is missing. */
  readonly overdueAt?: number;
}

/** Whether pods have been missing, without any progress, for longer than a Deployment gives them. */
export const isOverdue = ({ overdueAt }: Rollout, now: Date): boolean =>
  overdueAt !== undefined && now.getTime() >= overdueAt;

/** Source: Kubernetes, "Deployments", complete and failed; the same test as `kubectl rollout status`. */
export function rolloutOf(deployment: KubernetesObject | undefined): Rollout {
  if (deployment === undefined) {
    return {
      state: 'missing',
      message: 'The Deployment is not there yet',
      wanted: 0,
      updated: 0,
      available: 0,
      old: 0,
    };
  }
  const wanted = numberAt(deployment, 'spec', 'replicas') ?? 1;
  const seen = numberAt(deployment, 'status', 'observedGeneration') ?? 0;
  const total = numberAt(deployment, 'status', 'replicas') ?? 0;
  const updated = numberAt(deployment, 'status', 'updatedReplicas') ?? 0;
  const available = numberAt(deployment, 'status', 'availableReplicas') ?? 0;
  const counts = { wanted, updated, available, old: Math.max(0, total - updated) };
  if (seen < (deployment.metadata.generation ?? 0)) {
    return { ...counts, state: 'rolling', message: 'The Deployment has a change that its controller has not seen yet' };
  }
  if (updated === wanted && total === wanted && available === wanted) {
    return {
      ...counts,
      state: 'complete',
      message: `${pods(wanted)} of the newest revision serve${wanted === 1 ? 's' : ''}`,
    };
  }
  const refusal = refusalOf(deployment);
  const message = refusal ?? progressText(counts);
  const refused = refusal === undefined ? {} : { refusal };
  const overdueAt = overdueAtOf(deployment, counts);
  const more = { ...counts, ...refused, ...(overdueAt === undefined ? {} : { overdueAt }) };
  const stuck = textAt(conditionOf(deployment, 'Progressing'), 'reason') === 'ProgressDeadlineExceeded';
  return stuck
    ? { ...more, state: 'stuck', message: `The rollout makes no progress: ${message}` }
    : { ...more, state: refusal === undefined ? 'rolling' : 'refused', message };
}

const DEFAULT_DEADLINE_SECONDS = 600;

/**
 * The Deployment controller watches over rollouts only: where pods are lost later, and cannot come back, it says nothing
 * however long that lasts.
 */
function overdueAtOf(
  deployment: KubernetesObject,
  { wanted, updated, available, old }: Pick<Rollout, 'wanted' | 'updated' | 'available' | 'old'>,
): number | undefined {
  const someServeMeanwhile = available > 0 && (updated !== wanted || old > 0);
  const availability = conditionOf(deployment, 'Available');
  if (someServeMeanwhile || textAt(availability, 'status') !== 'False') return undefined;
  const progress = textAt(conditionOf(deployment, 'Progressing'), 'lastUpdateTime');
  const times = [textAt(availability, 'lastTransitionTime'), progress].map((time) => Date.parse(time ?? ''));
  const since = Math.max(...times.filter((time) => !Number.isNaN(time)));
  const seconds = numberAt(deployment, 'spec', 'progressDeadlineSeconds') ?? DEFAULT_DEADLINE_SECONDS;
  return Number.isFinite(since) ? since + seconds * 1000 : undefined;
}

function refusalOf(deployment: KubernetesObject): string | undefined {
  const failure = conditionOf(deployment, 'ReplicaFailure');
  if (textAt(failure, 'status') !== 'True') return undefined;
  const { namespace, name } = deployment.metadata;
  // The controller of ReplicaSets doubles its pauses up to 1,000 s, and is not told that a quota has changed.
  return (
    `Pods cannot be made: ${shortened(textAt(failure, 'message') ?? 'no reason was given')}. Once that is mended, Kubernetes ` +
    `tries again within 17 minutes, and at once after: kubectl rollout restart -n ${namespace} deployment/${name}`
  );
}

function progressText({ wanted, updated, available, old }: Omit<Rollout, 'state' | 'message'>): string {
  if (updated < wanted) return `Pods of the newest revision: ${updated} of ${wanted}`;
  if (old > 0) return `Pods of older revisions that have not ended: ${old}`;
  return `Available pods: ${Math.min(available, wanted)} of ${wanted}`;
}

const pods = (count: number): string => `${count} pod${count === 1 ? '' : 's'}`;
