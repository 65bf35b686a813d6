/** Pure: why pods do not serve, from their status. */
import { valueAt } from '../../lib/json/tree.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { isObject } from '../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../kubernetes/unstructured.ts';

export interface PodProblem {
  /** A reason for a condition, such as `ImagePullBackOff`. */
  readonly reason: string;
  /** What is wrong and what to do about it. The same for all pods that have the same trouble. */
  readonly message: string;
  /** Whether somebody must do something; otherwise waiting may help. */
  readonly failing: boolean;
}

/**
 * What keeps most of these pods from serving; undefined when nothing is known to. `name` is that of their Deployment.
 * Messages hold no counts and no times, so that they stay the same while the trouble does.
 */
export function podProblem(pods: readonly KubernetesObject[], name: string): PodProblem | undefined {
  const found = pods.filter(isCurrent).flatMap((pod) => problemOf(pod, name) ?? []);
  const groups = Map.groupBy(found, ({ reason, message }) => `${reason}\n${message}`);
  const [most] = [...groups.values()].sort(
    ([a], [b]) => Number(b?.failing) - Number(a?.failing) || (textOf(a) < textOf(b) ? -1 : 1),
  );
  return most?.[0];
}

const textOf = (problem: PodProblem | undefined): string => `${problem?.reason} ${problem?.message}`;

/** Neither going away nor a remnant that its ReplicaSet has replaced already. */
function isCurrent(pod: KubernetesObject): boolean {
  const phase = textAt(pod, 'status', 'phase');
  return pod.metadata.deletionTimestamp === undefined && phase !== 'Failed' && phase !== 'Succeeded';
}

function problemOf(pod: KubernetesObject, name: string): PodProblem | undefined {
  const unscheduled = conditionOf(pod, 'PodScheduled');
  if (textAt(unscheduled, 'status') === 'False') {
    const why = shortened(textAt(unscheduled, 'message') ?? 'no node takes it');
    return { reason: 'Unschedulable', message: `A pod cannot be placed on a node: ${why}`, failing: false };
  }
  for (const status of [
    ...listAt(pod, 'status', 'initContainerStatuses'),
    ...listAt(pod, 'status', 'containerStatuses'),
  ]) {
    const problem = containerProblem(pod, status, name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function containerProblem(pod: KubernetesObject, status: unknown, name: string): PodProblem | undefined {
  const container = textAt(status, 'name') ?? '';
  const reason = textAt(status, 'state', 'waiting', 'reason');
  const detail = shortened(textAt(status, 'state', 'waiting', 'message') ?? '');
  if (reason !== undefined && PULLING.test(reason)) {
    const why = withoutBackOff(detail);
    const message =
      `The image ${textAt(status, 'image') || imageOf(pod, container)} of container ${container} cannot be pulled: ` +
      `${why}. Check spec.image, and spec.imagePullSecrets when the registry wants credentials`;
    return { reason: 'ImagePullBackOff', message, failing: true };
  }
  if (reason === 'CreateContainerConfigError') {
    const message = `Container ${container} cannot be configured: ${detail}. Create what is missing; it then starts by itself`;
    return { reason, message, failing: true };
  }
  if (reason === 'CreateContainerError' || reason === 'RunContainerError') {
    return { reason, message: `Container ${container} cannot be started: ${detail}`, failing: true };
  }
  return crash(pod, status, container, name);
}

const PULLING =
  /^(ErrImagePull|ImagePullBackOff|ErrImageNeverPull|InvalidImageName|ImageInspectError|RegistryUnavailable)$/;

/** A container that ends again and again passes through waiting, running and terminated; it is one trouble. */
function crash(pod: KubernetesObject, status: unknown, container: string, name: string): PodProblem | undefined {
  const waiting = textAt(status, 'state', 'waiting', 'reason') === 'CrashLoopBackOff';
  const ended = valueAt(status, ['state', 'terminated']);
  const last = isObject(ended) ? ended : valueAt(status, ['lastState', 'terminated']);
  const isRestarting = valueAt(status, ['ready']) !== true && (numberAt(status, 'restartCount') ?? 0) >= 2;
  const failed = isObject(last) && textAt(last, 'reason') !== 'Completed';
  if (!waiting && !(failed && (isRestarting || isObject(ended)))) return undefined;
  const logs = `kubectl logs -n ${pod.metadata.namespace} deployment/${name} -c ${container} --previous`;
  if (textAt(last, 'reason') === 'OOMKilled') {
    const message = `Container ${container} needs more memory than its limit and is killed for it; raise spec.resources.limits.memory`;
    return { reason: 'OOMKilled', message, failing: true };
  }
  const code = numberAt(last, 'exitCode');
  const reason = textAt(last, 'reason') ?? 'Error';
  // Not its last words: a container says what it likes, and a status is read by more people than its log.
  const message =
    `Container ${container} ends again and again${code === undefined ? '' : `, with exit code ${code}`}` +
    `${reason === 'Error' ? '' : ` (${reason})`}. See: ${logs}`;
  return { reason: 'CrashLoopBackOff', message, failing: true };
}

/** `Back-off pulling image "x": ErrImagePull: why` and `why` alternate. */
const withoutBackOff = (message: string): string =>
  message.replace(/^Back-off pulling image "[^"]*"(: )?(ErrImagePull: )?/, '').trim() || 'the registry refuses it';

function imageOf(pod: KubernetesObject, container: string): string {
  const found = listAt(pod, 'spec', 'containers').find((one) => textAt(one, 'name') === container);
  return textAt(found, 'image') ?? '';
}

export function conditionOf(object: unknown, type: string): unknown {
  return listAt(object, 'status', 'conditions').find((condition) => textAt(condition, 'type') === type);
}

const MAX_DETAIL = 400;

export const shortened = (text: string): string => {
  const clean = text.replaceAll(/\s+/g, ' ').trim().replace(/[.]$/, '');
  return clean.length > MAX_DETAIL ? `${clean.slice(0, MAX_DETAIL)}…` : clean;
};
