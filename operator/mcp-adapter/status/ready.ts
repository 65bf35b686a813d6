/** Pure: the summary of a McpAdapter, condition `Ready`. */
import type { PodProblem } from '../../health/pod-problems.ts';
import type { Rollout } from '../../health/rollout.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { Handshake } from '../health/handshake.ts';

/** What came of the last handshake with what runs now. `underway`: the first one is; undefined: none can be tried yet. */
export type HandshakeState = Handshake | 'underway' | undefined;

/** For how long it has failed, in milliseconds; undefined while it does not. */
export function failingForMsOf(handshake: HandshakeState): number | undefined {
  if (handshake === undefined || handshake === 'underway' || handshake.ok) return undefined;
  return handshake.failingForMs ?? Infinity;
}

export interface ReadyInput {
  readonly rollout: Rollout;
  /** Whether pods have been missing for too long. */
  readonly overdue: boolean;
  readonly problem: PodProblem | undefined;
  readonly storage: DesiredCondition;
  readonly handshake: HandshakeState;
  /** How long all pods have been ready without an answer, in milliseconds. */
  readonly unansweredForMs: number;
  readonly warnings: readonly string[];
}

/** Before what a handshake left open. */
export const HANDSHAKE_NOTE = 'About the handshake: ';

export const HANDSHAKE_COMES = 'The handshake is still to come';

/** A reason of `Ready`. */
export const HANDSHAKE_FAILED = 'HandshakeFailed';

/** A reason of `Ready` and `Progressing`: pods are missing, and Kubernetes does not say why. */
export const PODS_UNAVAILABLE = 'PodsUnavailable';

/** Upstreams beside the adapter need a moment after it; until then an unanswered handshake is no failure. */
const HANDSHAKE_GRACE_MS = 30_000;

/** `False` only for what somebody must look at; what waiting helps against is `Unknown`. */
export function readyCondition(input: ReadyInput): DesiredCondition {
  const { rollout, problem, storage, handshake } = input;
  const condition = (status: DesiredCondition['status'], reason: string, ...sentences: string[]): DesiredCondition => ({
    type: 'Ready',
    status,
    reason,
    message: [...sentences, ...input.warnings].join('. '),
  });
  const because = problem === undefined ? [] : [problem.message];

  if (rollout.state === 'complete') {
    if (rollout.wanted === 0) return condition('True', 'ScaledToZero', 'No pod is wanted, so nothing serves');
    if (handshake === undefined || handshake === 'underway')
      return condition('Unknown', 'Progressing', rollout.message, HANDSHAKE_COMES);
    if (handshake.ok) {
      const note = handshake.note === undefined ? [] : [`${HANDSHAKE_NOTE}${handshake.note}`];
      return condition('True', 'Ready', rollout.message, ...note);
    }
    return input.unansweredForMs < HANDSHAKE_GRACE_MS
      ? condition('Unknown', 'Progressing', rollout.message, `Waiting for an answer: ${handshake.message}`)
      : condition('False', HANDSHAKE_FAILED, handshake.message);
  }
  if (storage.status === 'False') return condition('False', 'StorageNotReady', storage.message);
  if (rollout.state === 'stuck') {
    const reason = rollout.refusal === undefined ? 'ProgressDeadlineExceeded' : 'PodsRefused';
    return condition('False', problem?.reason ?? reason, rollout.message, ...because);
  }
  if (problem?.failing === true) return condition('False', problem.reason, problem.message, stillServing(rollout));
  if (rollout.state === 'refused') return condition('False', 'PodsRefused', rollout.message);
  if (input.overdue) {
    return condition(
      'False',
      problem?.reason ?? PODS_UNAVAILABLE,
      `Pods have been missing for too long: ${rollout.message}`,
      ...because,
    );
  }
  const waiting = storage.status === 'Unknown' ? [storage.message] : [];
  return condition('Unknown', 'Progressing', rollout.message, ...because, ...waiting);
}

const stillServing = ({ available }: Rollout): string =>
  available === 0 ? 'No pod serves' : `${available} other pod${available === 1 ? ' serves' : 's serve'}`;
