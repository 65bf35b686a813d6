/** Puts together what a report is made from; probes the adapter when everything else is in place. */
import { valueAt } from '../../lib/json/tree.ts';
import type { McpAdapterStatus } from '../../crds/v1alpha1/mcp-adapter.ts';
import { unknownConnections, widePorts } from '../pods/egress.ts';
import { conditionOf } from '../health/pod-problems.ts';
import { configHashOf } from '../health/revision.ts';
import { rolloutOf } from '../health/rollout.ts';
import type { ApplyReport } from '../apply/desired.ts';
import { liveObject } from '../apply/family-objects.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { listAt, textAt } from '../kubernetes/unstructured.ts';
import { DEPLOYMENTS, NETWORK_POLICIES, SERVICES, STORAGE_CLAIMS } from '../kubernetes/resources.ts';
import { publicUrl, serviceOrigin } from './config/address.ts';
import type { Checked } from './check/check.ts';
import type { Cluster } from './cluster.ts';
import type { EffectiveConfig } from './config/effective-config.ts';
import type { Observed } from './observe.ts';
import { HANDSHAKE_NOTE, type HandshakeState } from './status/ready.ts';
import { comparisonOf, type NameOf } from './lock/comparison.ts';
import type { LockPlan, LocksOfAdapter } from './lock/locks-of-adapter.ts';
import type { LockInputs } from './status/lock-condition.ts';
import type { NetworkState, StatusInputs, ApplyResult } from './status/report.ts';
import type { StorageState } from './status/storage-state.ts';
import type { PodHealth } from './health/pod-health.ts';
import { redactedHealth, UNNAMED_ISSUER } from './health/redacted-health.ts';

export interface Outcome {
  readonly locks: LocksOfAdapter;
  readonly lockPlan: LockPlan;
  readonly nameOf: NameOf;
  readonly observed: Observed;
  readonly checked: Checked;
  /** What of the configuration is known; undefined when it is not valid. */
  readonly config: EffectiveConfig | undefined;
  readonly warnings: readonly string[];
  readonly applyResult: ApplyResult;
  readonly paused: boolean;
  readonly applied: ApplyReport | undefined;
}

export function statusInputsOf(outcome: Outcome, cluster: Cluster): StatusInputs {
  const { observed, checked, config, warnings, applyResult, paused, applied } = outcome;
  const { name } = observed.key;
  const deployment = liveObject(observed, applied, DEPLOYMENTS, name);
  const service = liveObject(observed, applied, SERVICES, name);
  return {
    resource: observed.resource,
    applyResult,
    paused,
    deployment,
    service,
    storage: storageOf(outcome),
    network: networkOf(liveObject(observed, applied, NETWORK_POLICIES, name), config),
    pods: observed.pods,
    health:
      checked.ok && config !== undefined
        ? redactedHealth(observed.health, checked.adapter.spec, config)
        : withoutDetails(observed.health),
    usesOAuth: config?.authEnabled === true && config.issuers.length > 0,
    lock: lockInputsOf(outcome),
    hasFileRules: checked.ok && hasFileRules(checked.adapter.spec.config),
    isHealthKnown: observed.isHealthKnown,
    handshake: handshakeStateOf({ observed, deployment, service, config }, cluster),
    warnings,
    now: cluster.now(),
  };
}

/** Undefined where neither a McpToolLock names the adapter nor its configuration a file. */
function lockInputsOf({ observed, locks: { chosen }, lockPlan, nameOf }: Outcome): LockInputs | undefined {
  const config = valueAt(observed.resource, ['spec', 'config']);
  const file = valueAt(config, ['core', 'tool_lock']);
  if (chosen === undefined && (file === undefined || file === null)) return undefined;
  const ready = new Set(observed.pods.filter(isReady).map(({ metadata }) => metadata.name));
  const servers = listAt(config, 'servers').flatMap((server) => textAt(server, 'id') ?? []);
  return {
    lock: chosen && {
      name: chosen.metadata.name,
      refusal: chosen.content.refusal?.message,
      isKept: lockPlan === 'keep',
    },
    comparison: comparisonOf(
      observed.health.filter(({ pod }) => ready.has(pod)),
      servers,
      chosen?.status,
      nameOf,
    ),
  };
}

const isReady = (pod: KubernetesObject): boolean => textAt(conditionOf(pod, 'Ready'), 'status') === 'True';

/** Whether a server has entries of `adapters`. */
const hasFileRules = (config: unknown): boolean =>
  listAt(config, 'servers').some((server) => listAt(server, 'adapters').length > 0);

/** Of a configuration that nobody could check, nothing is known. */
const withoutDetails = (health: readonly PodHealth[]): PodHealth[] =>
  health.map((pod) => ({
    ...pod,
    servers: pod.servers.map((server) => ({ ...server, detail: undefined })),
    stateStore: { ...pod.stateStore, detail: undefined },
    issuers: pod.issuers?.map((one) => ({ ...one, issuer: UNNAMED_ISSUER })),
  }));

function storageOf({ observed, applied }: Outcome): StorageState {
  const { resource, foreignClaim, key } = observed;
  const existing = textAt(resource, 'spec', 'storage', 'existingClaim');
  if (existing !== undefined) return { kind: 'claim', name: existing, made: false, claim: foreignClaim };
  if (valueAt(resource, ['spec', 'storage', 'claim']) === undefined) return { kind: 'temporary' };
  const name = `${key.name}-storage`;
  const requestedSize = valueAt(resource, ['spec', 'storage', 'claim', 'size']);
  return { kind: 'claim', name, made: true, claim: liveObject(observed, applied, STORAGE_CLAIMS, name), requestedSize };
}

function networkOf(policy: KubernetesObject | undefined, config: EffectiveConfig | undefined): NetworkState {
  if (policy === undefined) return { kind: 'off' };
  const fields = config === undefined ? [] : unknownConnections(config.connections);
  const isRestricted = listAt(policy, 'spec', 'policyTypes').includes('Egress');
  if (isRestricted && fields.length === 0) return { kind: 'restricted', widePorts: widePorts(policy) };
  return { kind: 'open', fields: fields.map((field) => `spec.config.${field}`) };
}

interface HandshakeContext {
  readonly observed: Observed;
  readonly deployment: KubernetesObject | undefined;
  readonly service: KubernetesObject | undefined;
  readonly config: EffectiveConfig | undefined;
}

/** What came of the handshake with what runs now. It is tried when every pod is in place. */
function handshakeStateOf(context: HandshakeContext, cluster: Cluster): HandshakeState {
  const { observed, deployment, service } = context;
  const { key, resource } = observed;
  const origin = serviceOrigin(service);
  const { generation = 0, uid } = resource.metadata;
  const subject = [uid, generation, configHashOf(deployment), origin].join(' ');
  if (answeredBefore(context)) cluster.handshakes.assume(key, subject);
  const rollout = rolloutOf(deployment);
  const mountPath = mountPathOf(context);
  if (rollout.state !== 'complete' || rollout.wanted === 0 || origin === undefined || mountPath === undefined) {
    return cluster.handshakes.known(key, subject);
  }
  return cluster.handshakes.probe(key, subject, { origin, mountPath });
}

/** Whether the status, which an earlier process wrote, says so of what runs now. */
function answeredBefore({ observed: { resource }, deployment, service }: HandshakeContext): boolean {
  const { conditions = [], configHash, url } = (resource['status'] ?? {}) as McpAdapterStatus;
  const ready = conditions.find(({ type }) => type === 'Ready');
  return (
    ready?.status === 'True' &&
    ready.observedGeneration === resource.metadata.generation &&
    // What was noted then is part of the message.
    !ready.message.includes(HANDSHAKE_NOTE) &&
    configHash !== undefined &&
    configHash === configHashOf(deployment) &&
    url !== undefined &&
    url === publicUrl(resource, service)
  );
}

/** A server whose upstream works, as far as any pod knows; else the first one. */
function mountPathOf({ observed: { health }, config }: HandshakeContext): string | undefined {
  const servers = health.flatMap((pod) => pod.servers).filter(({ mountPath }) => mountPath !== undefined);
  const [first] = servers;
  const healthy = servers.find((server) => server.healthy) ?? first;
  return healthy?.mountPath ?? config?.servers.find(({ mountPath }) => mountPath !== undefined)?.mountPath;
}
