/** Pure: what was observed of a McpAdapter → its status. */
import type { Problem } from '../../crds/config/problem.ts';
import type { Condition } from '../../crds/v1alpha1/conditions.ts';
import type { McpAdapterStatus } from '../../crds/v1alpha1/mcp-adapter.ts';
import { podProblem } from '../pods/pod-problems.ts';
import { restrictedFinding } from '../pods/restricted-finding.ts';
import { configHashOf, newestPods, readySince } from '../pods/revision.ts';
import { type Rollout, rolloutOf } from '../pods/rollout.ts';
import type { Finding } from '../runtime/conditions.ts';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { numberAt } from '../runtime/raw.ts';
import { publicUrl } from './address.ts';
import { ADAPTER_LABEL } from './labels.ts';
import type { PodHealth } from './pod-health.ts';
import { HANDSHAKE_FAILED, type HandshakeState, readyFinding } from './ready.ts';
import { type StorageState, storageFinding } from './storage-state.ts';
import { stateStoreFinding, upstreamsFinding, upstreamsOf } from './upstream-health.ts';

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
  const upstreams = situation.health.length > 0 ? upstreamsOf(situation.health, before.upstreams ?? []) : undefined;
  const shown = upstreams ?? (rollout.available > 0 ? before.upstreams : undefined);

  return {
    observedGeneration: generation,
    conditions: [
      acceptedFinding(verdict),
      ready,
      aboutGeneration(progressFinding(rollout), situation, before),
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
  const newest = newestPods(deployment, pods);
  return readyFinding({
    rollout,
    problem: podProblem(newest, situation.resource.metadata.name),
    storage,
    handshake: situation.handshake,
    unansweredForMs: unansweredForMs(situation, newest),
    warnings: situation.warnings,
  });
}

/** A Service may be younger than its pods, and the network learns of it later still. What had failed goes on failing. */
function unansweredForMs({ resource, handshake, now }: Situation, newest: readonly KubernetesObject[]): number {
  const { conditions = [] } = (resource['status'] ?? {}) as McpAdapterStatus;
  const ready = conditions.find(({ type }) => type === 'Ready');
  const isKnown =
    ready?.reason === HANDSHAKE_FAILED && ready.observedGeneration === (resource.metadata.generation ?? 0);
  const since = readySince(newest);
  const readyForMs = since === undefined ? 0 : now.getTime() - since;
  const failingForMs = handshake?.ok === false ? (handshake.failingForMs ?? Infinity) : 0;
  return isKnown ? Infinity : Math.min(readyForMs, failingForMs);
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

function progressFinding(rollout: Rollout): Finding {
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
      return say('True', 'RollingOut');
  }
}

/** While pods run but none of them answers, what they said last stays. */
function healthFindings(
  { health }: Situation,
  rollout: Rollout,
  upstreams: ReturnType<typeof upstreamsOf> | undefined,
  before: readonly Condition[],
): Finding[] {
  if (upstreams !== undefined) return [upstreamsFinding(upstreams), stateStoreFinding(health)];
  return ['UpstreamsHealthy', 'StateStoreReady'].map((type) => {
    const known = before.find((condition) => condition.type === type);
    if (known !== undefined && rollout.available > 0) {
      const { status, reason, message, observedGeneration } = known;
      return { type, status, reason, message, ...(observedGeneration === undefined ? {} : { observedGeneration }) };
    }
    return { type, status: 'Unknown', reason: 'NoAnswer', message: 'No pod has said anything about it yet' };
  });
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
  if (verdict.kind === 'refused') {
    return [{ type: 'Stalled', status: 'True', reason: verdict.reason, message: verdict.message }];
  }
  if (rollout.state === 'stuck' || ready.reason === 'StorageNotReady' || isUnanswered(situation, ready)) {
    return [{ type: 'Stalled', status: 'True', reason: ready.reason, message: ready.message }];
  }
  if (ready.status === 'True' || paused) return [];
  return [{ type: 'Reconciling', status: 'True', reason: ready.reason, message: ready.message }];
}

/** As long as a Deployment gives its pods. */
const UNANSWERED_MS = 10 * 60_000;

function isUnanswered({ resource, now }: Situation, ready: Finding): boolean {
  const { conditions = [] } = (resource['status'] ?? {}) as McpAdapterStatus;
  const known = conditions.find(({ type, status }) => type === 'Ready' && status === 'False');
  const since = Date.parse(known?.lastTransitionTime ?? '');
  return ready.reason === HANDSHAKE_FAILED && now.getTime() - since >= UNANSWERED_MS;
}

/** Shown from the first answer on as long as pods serve there. */
function urlOf(situation: Situation, rollout: Rollout, before: string | undefined): string | undefined {
  const { resource, service, handshake, verdict, paused } = situation;
  if (rollout.available === 0) return undefined;
  // The spec may name an address that is not made yet.
  if (before !== undefined && (verdict.kind === 'refused' || paused)) return before;
  const url = publicUrl(resource, service);
  return handshake?.ok === true || url === before ? url : undefined;
}

const MAX_PROBLEMS = 20;

/** All problems in one text, each with its path. */
export function problemsText(problems: readonly Problem[]): string {
  const lines = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${path} ${message}`);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
