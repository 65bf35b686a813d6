/** Pure: what was observed of a McpAdapter → its status. */
import type { Problem } from '../../../crds/config/load/problem.ts';
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import type { McpAdapterStatus } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { podProblem } from '../../health/pod-problems.ts';
import { restrictedFinding } from '../../pods/restricted-condition.ts';
import { configHashOf, newestPods, readySince } from '../../health/revision.ts';
import { type Rollout, isOverdue, rolloutOf } from '../../health/rollout.ts';
import type { Finding } from '../../status/conditions.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { numberAt } from '../../kubernetes/unstructured.ts';
import { publicUrl } from '../config/address.ts';
import { ADAPTER_LABEL } from '../config/labels.ts';
import { accessFinding } from './access-condition.ts';
import type { PodHealth } from '../health/pod-health.ts';
import {
  HANDSHAKE_COMES,
  HANDSHAKE_FAILED,
  PODS_UNAVAILABLE,
  type HandshakeState,
  failingForMsOf,
  readyFinding,
} from './ready.ts';
import { type StorageState, storageFinding } from './storage-state.ts';
import { STATE_STORE_UNAVAILABLE, stateStoreFinding, stateStoreProblem } from './state-store-health.ts';
import { upstreamsFinding, upstreamsOf } from './upstream-health.ts';

/**
 * What became of the spec.
 * - `applied`: everything is as it says.
 * - `waiting`: an object could not be applied for now.
 * - `refused`: it cannot be applied before somebody changes something; `reason` is that of condition `Accepted`.
 */
export type Verdict =
  | { readonly kind: 'applied' }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'refused'; readonly reason: string; readonly message: string };

/** What a NetworkPolicy allows the pods. */
export type NetworkState =
  | { readonly kind: 'off' }
  /** `widePorts`: where it allows any address. */
  | { readonly kind: 'restricted'; readonly widePorts: readonly string[] }
  | { readonly kind: 'open'; readonly fields: readonly string[] };

export interface Situation {
  /** With the status before. */
  readonly resource: KubernetesObject;
  readonly verdict: Verdict;
  readonly paused: boolean;
  readonly deployment: KubernetesObject | undefined;
  readonly service: KubernetesObject | undefined;
  readonly storage: StorageState;
  readonly network: NetworkState;
  readonly pods: readonly KubernetesObject[];
  readonly health: readonly PodHealth[];
  /** Whether all pods that may answer have been asked; until then what they said before stays. */
  readonly isHeard: boolean;
  readonly handshake: HandshakeState;
  /** What works, but perhaps not as meant. */
  readonly warnings: readonly string[];
  readonly now: Date;
}

/** A status whose conditions have no times yet. */
export type Report = Omit<McpAdapterStatus, 'conditions'> & { readonly conditions: readonly Finding[] };

export function report(situation: Situation): Report {
  const { resource, verdict, deployment } = situation;
  const { name, generation = 0 } = resource.metadata;
  const before = (resource['status'] ?? {}) as McpAdapterStatus;
  const rollout = rolloutOf(deployment);
  const storage = storageFinding(situation.storage);
  const ready = aboutGeneration(readyOf(situation, rollout, storage), situation, before);
  const { health, isHeard } = situation;
  const upstreams = isHeard && health.length > 0 ? upstreamsOf(health, before.upstreams ?? []) : undefined;
  const shown = upstreams ?? (rollout.available > 0 || !isHeard ? before.upstreams : undefined);

  return {
    observedGeneration: generation,
    conditions: [
      acceptedFinding(verdict),
      ready,
      aboutGeneration(progressFinding(rollout, isOverdue(rollout, situation.now)), situation, before),
      ...healthFindings(situation, rollout, upstreams, before.conditions ?? []).map((finding) =>
        aboutPods(finding, situation, rollout, before),
      ),
      storage,
      networkFinding(situation.network),
      ...(situation.paused ? [PAUSED] : []),
      ...kstatusFindings(situation, rollout, ready),
    ],
    replicas: numberAt(deployment, 'status', 'replicas') ?? 0,
    readyReplicas: numberAt(deployment, 'status', 'readyReplicas') ?? 0,
    selector: `${ADAPTER_LABEL}=${name}`,
    url: urlOf(situation, rollout, before.url),
    configHash: rollout.state === 'complete' && rollout.wanted > 0 ? configHashOf(deployment) : undefined,
    upstreams: shown,
    upstreamsHealthy: shown && `${shown.filter(({ healthy }) => healthy).length}/${shown.length}`,
  };
}

function acceptedFinding(verdict: Verdict): Finding {
  return verdict.kind === 'refused'
    ? { type: 'Accepted', status: 'False', reason: verdict.reason, message: verdict.message }
    : { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'The specification is valid' };
}

function readyOf(situation: Situation, rollout: Rollout, storage: Finding): Finding {
  const { verdict } = situation;
  if (rollout.state === 'missing') {
    if (verdict.kind === 'refused') {
      return {
        type: 'Ready',
        status: 'False',
        reason: verdict.reason,
        message: 'Nothing runs: see condition Accepted',
      };
    }
    if (situation.paused) {
      return { type: 'Ready', status: 'Unknown', reason: 'Paused', message: 'Nothing runs, and spec.paused is true' };
    }
  }
  if (verdict.kind === 'waiting') {
    return { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: verdict.message };
  }
  const { deployment, pods } = situation;
  const known = readyBefore(situation);
  // Its answer comes in a moment, or in some seconds at most.
  if (situation.handshake === 'underway' && known !== undefined) return asBefore(known);
  // Only the pods can say whether it still is so.
  if (!situation.isHeard && known?.reason === STATE_STORE_UNAVAILABLE) return asBefore(known);
  const newest = newestPods(deployment, pods);
  return readyFinding({
    rollout,
    overdue: isOverdue(rollout, situation.now),
    problem:
      podProblem(newest, situation.resource.metadata.name) ?? stateStoreProblem(heardOf(newest, situation), rollout),
    storage,
    handshake: situation.handshake,
    unansweredForMs: unansweredForMs(situation, newest),
    warnings: situation.warnings,
  });
}

const heardOf = (pods: readonly KubernetesObject[], { health }: Situation): PodHealth[] => {
  const names = new Set(pods.map(({ metadata }) => metadata.name));
  return health.filter(({ pod }) => names.has(pod));
};

/** `Ready` as the status says it now. */
function readyBefore({ resource }: Situation): Condition | undefined {
  const { conditions } = (resource['status'] ?? {}) as McpAdapterStatus;
  return conditions?.find(({ type }) => type === 'Ready');
}

/** A Service may be younger than its pods, and the network learns of it later still. What had failed goes on failing. */
function unansweredForMs(situation: Situation, newest: readonly KubernetesObject[]): number {
  const { resource, handshake, now } = situation;
  const ready = readyBefore(situation);
  const isKnown =
    ready?.reason === HANDSHAKE_FAILED && ready.observedGeneration === (resource.metadata.generation ?? 0);
  const since = readySince(newest);
  const readyForMs = since === undefined ? 0 : now.getTime() - since;
  return isKnown ? Infinity : Math.min(readyForMs, failingForMsOf(handshake) ?? 0);
}

/** What is said of pods is about the generation that they were made from, which is an earlier one until it is applied. */
function aboutGeneration(
  finding: Finding,
  { verdict, paused, deployment }: Situation,
  before: McpAdapterStatus,
): Finding {
  if ((verdict.kind === 'applied' && !paused) || deployment === undefined) return finding;
  const known = before.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration;
  return known === undefined ? finding : { ...finding, observedGeneration: known };
}

/** What pods say is about the generation that all of them were made from. */
function aboutPods(
  finding: Finding,
  { verdict, paused }: Situation,
  rollout: Rollout,
  before: McpAdapterStatus,
): Finding {
  if (verdict.kind === 'applied' && !paused && rollout.state === 'complete') return finding;
  const known = before.conditions?.find(({ type }) => type === finding.type)?.observedGeneration;
  return known === undefined ? finding : { ...finding, observedGeneration: known };
}

function progressFinding(rollout: Rollout, overdue: boolean): Finding {
  const say = (status: Finding['status'], reason: string): Finding => ({
    type: 'Progressing',
    status,
    reason,
    message: rollout.message,
  });
  switch (rollout.state) {
    case 'complete':
      return say('False', 'Complete');
    case 'stuck':
      return say('False', 'ProgressDeadlineExceeded');
    case 'refused':
      return say('True', 'PodsRefused');
    case 'missing':
      return say('Unknown', 'NoDeployment');
    default:
      if (overdue) return say('False', PODS_UNAVAILABLE);
      return say('True', 'RollingOut');
  }
}

/** While pods run but none of them answers, what they said last stays. */
function healthFindings(
  { health, isHeard }: Situation,
  rollout: Rollout,
  upstreams: ReturnType<typeof upstreamsOf> | undefined,
  before: readonly Condition[],
): Finding[] {
  if (upstreams !== undefined) return [upstreamsFinding(upstreams), stateStoreFinding(health), accessFinding(health)];
  return ['UpstreamsHealthy', 'StateStoreReady', 'AccessProtected'].map((type) => {
    const known = before.find((condition) => condition.type === type);
    if (known !== undefined && (rollout.available > 0 || !isHeard)) {
      return asBefore(known);
    }
    return { type, status: 'Unknown', reason: 'NoAnswer', message: 'No pod has said anything about it yet' };
  });
}

function asBefore({ type, status, reason, message, observedGeneration }: Condition): Finding {
  return { type, status, reason, message, ...(observedGeneration === undefined ? {} : { observedGeneration }) };
}

function networkFinding(network: NetworkState): Finding {
  const type = 'NetworkPolicyEnforced';
  switch (network.kind) {
    case 'off':
      return { type, status: 'False', reason: 'Disabled', message: 'There is no NetworkPolicy for the pods' };
    case 'restricted':
      return restrictedFinding(network.widePorts);
    default: {
      const which = network.fields.length > 0 ? `${network.fields.join(', ')} ` : 'A host ';
      const message =
        `Pods may connect to any address but link-local ones and those of metadata services: ${which}depends on a Secret or ` +
        'ConfigMap, so the NetworkPolicy cannot name it. Write the host out, or give it as a value in spec.env';
      return { type, status: 'False', reason: 'UnknownUpstream', message };
    }
  }
}

const PAUSED: Finding = {
  type: 'Paused',
  status: 'True',
  reason: 'Paused',
  message: 'Nothing is rolled out or repaired while spec.paused is true',
};

/** Source: kstatus, "The abnormal-true conditions". Both are there only while they are true. */
function kstatusFindings(situation: Situation, rollout: Rollout, ready: Finding): Finding[] {
  const { verdict, paused } = situation;
  const { generation = 0 } = situation.resource.metadata;
  if (verdict.kind === 'refused') {
    return [{ type: 'Stalled', status: 'True', reason: verdict.reason, message: verdict.message }];
  }
  const overdue = ready.status === 'False' && isOverdue(rollout, situation.now);
  if (rollout.state === 'stuck' || overdue || ready.reason === 'StorageNotReady' || isUnanswered(situation, ready)) {
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

function isUnanswered(situation: Situation, ready: Finding): boolean {
  const known = readyBefore(situation);
  const since = known?.status === 'False' ? Date.parse(known.lastTransitionTime) : NaN;
  return ready.reason === HANDSHAKE_FAILED && situation.now.getTime() - since >= UNANSWERED_MS;
}

/** Shown from the first answer on as long as pods serve there. */
function urlOf(situation: Situation, rollout: Rollout, before: string | undefined): string | undefined {
  const { resource, service, handshake, verdict, paused } = situation;
  if (rollout.available === 0) return undefined;
  // The spec may name an address that is not made yet.
  if (before !== undefined && (verdict.kind === 'refused' || paused || handshake === 'underway')) return before;
  const url = publicUrl(resource, service);
  const isAnswered = handshake !== undefined && handshake !== 'underway' && handshake.ok;
  return isAnswered || url === before ? url : undefined;
}

const MAX_PROBLEMS = 20;

/** All problems in one text, each with its path. */
export function problemsText(problems: readonly Problem[]): string {
  const lines = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${path} ${message}`);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
