/** Pure: what was observed of a McpAdapter → its status. */
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import type { McpAdapterStatus } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { conditionOf, podProblem } from '../../health/pod-problems.ts';
import { restrictedCondition } from '../../pods/restricted-condition.ts';
import { configHashOf, newestPods, readySince } from '../../health/revision.ts';
import { type Rollout, isOverdue, rolloutOf } from '../../health/rollout.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { publicUrl } from '../config/address.ts';
import { ADAPTER_LABEL } from '../config/labels.ts';
import { accessCondition } from './access-condition.ts';
import { authCondition } from './auth-condition.ts';
import { fileRulesCondition } from './file-rules-condition.ts';
import { lockCondition, type LockInputs } from './lock-condition.ts';
import type { PodHealth } from '../health/pod-health.ts';
import {
  HANDSHAKE_COMES,
  HANDSHAKE_FAILED,
  PODS_UNAVAILABLE,
  type HandshakeState,
  failingForMsOf,
  readyCondition,
} from './ready.ts';
import { type StorageState, storageCondition } from './storage-state.ts';
import { STATE_STORE_UNAVAILABLE, stateStoreCondition, stateStoreProblem } from './state-store-health.ts';
import { upstreamsCondition, upstreamsOf } from './upstream-health.ts';

/**
 * What became of the spec.
 * - `applied`: everything is as it says.
 * - `waiting`: an object could not be applied for now.
 * - `refused`: it cannot be applied before somebody changes something; `reason` is that of condition `Accepted`.
 */
export type ApplyResult =
  | { readonly kind: 'applied' }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'refused'; readonly reason: string; readonly message: string };

/** What a NetworkPolicy allows the pods. */
export type NetworkState =
  | { readonly kind: 'off' }
  /** `widePorts`: where it allows any address. */
  | { readonly kind: 'restricted'; readonly widePorts: readonly string[] }
  | { readonly kind: 'open'; readonly fields: readonly string[] };

export interface StatusInputs {
  /** With the status before. */
  readonly resource: KubernetesObject;
  readonly applyResult: ApplyResult;
  readonly paused: boolean;
  readonly deployment: KubernetesObject | undefined;
  readonly service: KubernetesObject | undefined;
  readonly storage: StorageState;
  readonly network: NetworkState;
  readonly pods: readonly KubernetesObject[];
  readonly health: readonly PodHealth[];
  /** Whether the specification certainly asks for tokens of an authorization server. */
  readonly usesOAuth: boolean;
  /** Whether a server has entries of `adapters`. */
  readonly hasFileRules: boolean;
  /** How servers compare with the tool lock; undefined without one. */
  readonly lock: LockInputs | undefined;
  /** Whether all pods that may answer have been asked; until then what they said before stays. */
  readonly isHealthKnown: boolean;
  readonly handshake: HandshakeState;
  /** What works, but perhaps not as meant. */
  readonly warnings: readonly string[];
  readonly now: Date;
}

/** A status whose conditions have no times yet. */
export type Report = Omit<McpAdapterStatus, 'conditions'> & { readonly conditions: readonly DesiredCondition[] };

export function report(inputs: StatusInputs): Report {
  const { resource, applyResult, deployment } = inputs;
  const { name, generation = 0 } = resource.metadata;
  const before = (resource['status'] ?? {}) as McpAdapterStatus;
  const rollout = rolloutOf(deployment);
  const storage = storageCondition(inputs.storage);
  const ready = aboutGeneration(readyOf(inputs, rollout, storage), inputs, before);
  const { health, isHealthKnown } = inputs;
  const upstreams = isHealthKnown && health.length > 0 ? upstreamsOf(health, before.upstreams ?? []) : undefined;
  const shown = upstreams ?? (rollout.available > 0 || !isHealthKnown ? before.upstreams : undefined);

  return {
    observedGeneration: generation,
    conditions: [
      acceptedCondition(applyResult),
      ready,
      aboutGeneration(progressingCondition(rollout, isOverdue(rollout, inputs.now)), inputs, before),
      ...[
        ...healthConditions(inputs, rollout, upstreams, before.conditions ?? []),
        ...lockConditions(inputs, rollout, before.conditions ?? []),
      ].map((condition) => aboutPods(condition, inputs, rollout, before)),
      storage,
      networkCondition(inputs.network),
      ...(inputs.paused ? [PAUSED] : []),
      ...kstatusConditions(inputs, rollout, ready),
    ],
    replicas: numberAt(deployment, 'status', 'replicas') ?? 0,
    readyReplicas: numberAt(deployment, 'status', 'readyReplicas') ?? 0,
    selector: `${ADAPTER_LABEL}=${name}`,
    url: urlOf(inputs, rollout, before.url),
    configHash: rollout.state === 'complete' && rollout.wanted > 0 ? configHashOf(deployment) : undefined,
    upstreams: shown,
    upstreamsHealthy: shown && `${shown.filter(({ healthy }) => healthy).length}/${shown.length}`,
  };
}

function acceptedCondition(applyResult: ApplyResult): DesiredCondition {
  return applyResult.kind === 'refused'
    ? { type: 'Accepted', status: 'False', reason: applyResult.reason, message: applyResult.message }
    : { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'The specification is valid' };
}

function readyOf(inputs: StatusInputs, rollout: Rollout, storage: DesiredCondition): DesiredCondition {
  const { applyResult } = inputs;
  if (rollout.state === 'missing') {
    if (applyResult.kind === 'refused') {
      return {
        type: 'Ready',
        status: 'False',
        reason: applyResult.reason,
        message: 'Nothing runs: see condition Accepted',
      };
    }
    if (inputs.paused) {
      return { type: 'Ready', status: 'Unknown', reason: 'Paused', message: 'Nothing runs, and spec.paused is true' };
    }
  }
  if (applyResult.kind === 'waiting') {
    return { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: applyResult.message };
  }
  const { deployment, pods } = inputs;
  const known = readyBefore(inputs);
  // Its answer comes in a moment, or in some seconds at most.
  if (inputs.handshake === 'underway' && known !== undefined) return asBefore(known);
  // Only the pods can say whether it still is so.
  if (!inputs.isHealthKnown && known?.reason === STATE_STORE_UNAVAILABLE) return asBefore(known);
  const newest = newestPods(deployment, pods);
  return readyCondition({
    rollout,
    overdue: isOverdue(rollout, inputs.now),
    problem: podProblem(newest, inputs.resource.metadata.name) ?? stateStoreProblem(healthOf(newest, inputs), rollout),
    storage,
    handshake: inputs.handshake,
    unansweredForMs: unansweredForMs(inputs, newest),
    warnings: inputs.warnings,
  });
}

const healthOf = (pods: readonly KubernetesObject[], { health }: StatusInputs): PodHealth[] => {
  const names = new Set(pods.map(({ metadata }) => metadata.name));
  return health.filter(({ pod }) => names.has(pod));
};

/** `Ready` as the status says it now. */
function readyBefore({ resource }: StatusInputs): Condition | undefined {
  const { conditions } = (resource['status'] ?? {}) as McpAdapterStatus;
  return conditions?.find(({ type }) => type === 'Ready');
}

/** A Service may be younger than its pods, and the network learns of it later still. What had failed goes on failing. */
function unansweredForMs(inputs: StatusInputs, newest: readonly KubernetesObject[]): number {
  const { resource, handshake, now } = inputs;
  const ready = readyBefore(inputs);
  const isKnown =
    ready?.reason === HANDSHAKE_FAILED && ready.observedGeneration === (resource.metadata.generation ?? 0);
  const since = readySince(newest);
  const readyForMs = since === undefined ? 0 : now.getTime() - since;
  return isKnown ? Infinity : Math.min(readyForMs, failingForMsOf(handshake) ?? 0);
}

/** What is said of pods is about the generation that they were made from, which is an earlier one until it is applied. */
function aboutGeneration(
  condition: DesiredCondition,
  { applyResult, paused, deployment }: StatusInputs,
  before: McpAdapterStatus,
): DesiredCondition {
  if ((applyResult.kind === 'applied' && !paused) || deployment === undefined) return condition;
  const known = before.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration;
  return known === undefined ? condition : { ...condition, observedGeneration: known };
}

/** What pods say is about the generation that all of them were made from. */
function aboutPods(
  condition: DesiredCondition,
  { applyResult, paused }: StatusInputs,
  rollout: Rollout,
  before: McpAdapterStatus,
): DesiredCondition {
  if (applyResult.kind === 'applied' && !paused && rollout.state === 'complete') return condition;
  const known = before.conditions?.find(({ type }) => type === condition.type)?.observedGeneration;
  return known === undefined ? condition : { ...condition, observedGeneration: known };
}

function progressingCondition(rollout: Rollout, overdue: boolean): DesiredCondition {
  const condition = (status: DesiredCondition['status'], reason: string): DesiredCondition => ({
    type: 'Progressing',
    status,
    reason,
    message: rollout.message,
  });
  switch (rollout.state) {
    case 'complete':
      return condition('False', 'Complete');
    case 'stuck':
      return condition('False', 'ProgressDeadlineExceeded');
    case 'refused':
      return condition('True', 'PodsRefused');
    case 'missing':
      return condition('Unknown', 'NoDeployment');
    default:
      if (overdue) return condition('False', PODS_UNAVAILABLE);
      return condition('True', 'RollingOut');
  }
}

/** While pods run but none of them answers, what they said last stays. */
function healthConditions(
  inputs: StatusInputs,
  rollout: Rollout,
  upstreams: ReturnType<typeof upstreamsOf> | undefined,
  before: readonly Condition[],
): DesiredCondition[] {
  const { health, isHealthKnown, usesOAuth, hasFileRules } = inputs;
  if (upstreams !== undefined) {
    const ready = healthOf(inputs.pods.filter(isReady), inputs);
    const auth = authCondition(ready);
    const fileRules = fileRulesCondition(ready, hasFileRules);
    return [
      upstreamsCondition(upstreams),
      stateStoreCondition(health),
      accessCondition(health),
      ...(auth !== undefined || usesOAuth ? [auth ?? noAnswer('AuthReady')] : []),
      ...(fileRules === undefined ? [] : [fileRules]),
    ];
  }
  return ['UpstreamsHealthy', 'StateStoreReady', 'AccessProtected', 'AuthReady', 'FileRulesMatched'].flatMap((type) => {
    const known = before.find((condition) => condition.type === type);
    if (known !== undefined && (rollout.available > 0 || !isHealthKnown)) return asBefore(known);
    const isLeftOut = (type === 'AuthReady' && !usesOAuth) || (type === 'FileRulesMatched' && !hasFileRules);
    return isLeftOut ? [] : noAnswer(type);
  });
}

/** Nothing without a lock; what was known stays until pods that have begun anew have compared something. */
function lockConditions(
  { lock, isHealthKnown }: StatusInputs,
  rollout: Rollout,
  before: readonly Condition[],
): DesiredCondition[] {
  if (lock === undefined) return [];
  const found = lockCondition(lock);
  if (found !== undefined) return [found];
  const known = before.find(({ type }) => type === 'ToolsMatchLock');
  return [
    known !== undefined && (rollout.available > 0 || !isHealthKnown) ? asBefore(known) : noAnswer('ToolsMatchLock'),
  ];
}

const noAnswer = (type: string): DesiredCondition => ({
  type,
  status: 'Unknown',
  reason: 'NoAnswer',
  message: 'No pod has said anything about it yet',
});

const isReady = (pod: KubernetesObject): boolean => textAt(conditionOf(pod, 'Ready'), 'status') === 'True';

function asBefore({ type, status, reason, message, observedGeneration }: Condition): DesiredCondition {
  return { type, status, reason, message, ...(observedGeneration === undefined ? {} : { observedGeneration }) };
}

function networkCondition(network: NetworkState): DesiredCondition {
  const type = 'NetworkPolicyEnforced';
  switch (network.kind) {
    case 'off':
      return { type, status: 'False', reason: 'Disabled', message: 'There is no NetworkPolicy for the pods' };
    case 'restricted':
      return restrictedCondition(network.widePorts);
    default: {
      const which = network.fields.length > 0 ? `${network.fields.join(', ')} ` : 'A host ';
      const message =
        `Pods may connect to any address but link-local ones and those of metadata services: ${which}depends on a Secret or ` +
        'ConfigMap, so the NetworkPolicy cannot name it. Write the host out, or give it as a value in spec.env';
      return { type, status: 'False', reason: 'UnknownUpstream', message };
    }
  }
}

const PAUSED: DesiredCondition = {
  type: 'Paused',
  status: 'True',
  reason: 'Paused',
  message: 'Nothing is rolled out or repaired while spec.paused is true',
};

/** Source: kstatus, "The abnormal-true conditions". Both are there only while they are true. */
function kstatusConditions(inputs: StatusInputs, rollout: Rollout, ready: DesiredCondition): DesiredCondition[] {
  const { applyResult, paused } = inputs;
  const { generation = 0 } = inputs.resource.metadata;
  if (applyResult.kind === 'refused') {
    return [{ type: 'Stalled', status: 'True', reason: applyResult.reason, message: applyResult.message }];
  }
  const overdue = ready.status === 'False' && isOverdue(rollout, inputs.now);
  if (rollout.state === 'stuck' || overdue || ready.reason === 'StorageNotReady' || isUnanswered(inputs, ready)) {
    return [{ type: 'Stalled', status: 'True', reason: ready.reason, message: ready.message }];
  }
  if (paused) return [];
  if (ready.status === 'True') {
    // Still that of the generation before, until the handshake is done.
    if ((ready.observedGeneration ?? generation) === generation) return [];
    return [{ type: 'Reconciling', status: 'True', reason: 'Progressing', message: HANDSHAKE_COMES }];
  }
  return [{ type: 'Reconciling', status: 'True', reason: ready.reason, message: ready.message }];
}

/** As long as a Deployment gives its pods. */
const UNANSWERED_MS = 10 * 60_000;

function isUnanswered(inputs: StatusInputs, ready: DesiredCondition): boolean {
  const known = readyBefore(inputs);
  const since = known?.status === 'False' ? Date.parse(known.lastTransitionTime) : NaN;
  return ready.reason === HANDSHAKE_FAILED && inputs.now.getTime() - since >= UNANSWERED_MS;
}

/** Shown from the first answer on as long as pods serve there. */
function urlOf(inputs: StatusInputs, rollout: Rollout, before: string | undefined): string | undefined {
  const { resource, service, handshake, applyResult, paused } = inputs;
  if (rollout.available === 0) return undefined;
  // The spec may name an address that is not made yet.
  if (before !== undefined && (applyResult.kind === 'refused' || paused || handshake === 'underway')) return before;
  const url = publicUrl(resource, service);
  const isAnswered = handshake !== undefined && handshake !== 'underway' && handshake.ok;
  return isAnswered || url === before ? url : undefined;
}
