/**
 * What of a pod overlay leaves the pod: for its node, for another account, for somebody else's storage or Service. The
 * Pod Security Standard "restricted" is part of it, because not every namespace has it. Whoever may write a resource has
 * not for that reason the right to make any pod.
 */
import { type Problem, dottedPath } from '../../crds/config/load/problem.ts';
import { type Path, valueAt } from '../../lib/json/tree.ts';
import { isObject } from '../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../kubernetes/unstructured.ts';
import type { PodOverlay } from './permissions.ts';
import { type Violation, securityViolations } from './check-security-context.ts';

const OVERLAY = ['spec', 'podOverlay'] as const;
const HOW = 'the operator allows it only with --pod-overlay=all';

/** What belongs to the resource, so that its overlay may name it. */
export interface Belongings {
  /** Name of its ServiceAccount. */
  readonly account: string | undefined;
  /** Names of its claims. */
  readonly claims: readonly string[];
  /** Name of the container that runs the program. */
  readonly container: string;
}

/** What the policy of the operator refuses of `podOverlay` and `image`. Reads unchecked JSON. */
export function refusedByPolicy(resource: unknown, policy: PodOverlay, own: Belongings): Problem[] {
  if (policy === 'all') return [];
  if (policy === 'none') {
    return ['podOverlay', 'image']
      .filter((field) => (valueAt(resource, ['spec', field]) ?? undefined) !== undefined)
      .map((field) => ({
        path: `spec.${field}`,
        message: 'cannot be set: the operator was started with --pod-overlay=none',
      }));
  }
  const pod = valueAt(resource, [...OVERLAY, 'spec']);
  const violations: Violation[] = [
    ...metadataViolations(valueAt(resource, [...OVERLAY, 'metadata'])),
    ...under('spec', [
      ...FORBIDDEN.flatMap((rule) => rule(pod, own)),
      ...securityViolations(pod, own.container),
      ...volumeViolations(pod, own.claims),
      ...['containers', 'initContainers'].flatMap((list) =>
        listAt(pod, list).flatMap((container, index) => under(list, under(index, containerViolations(container)))),
      ),
    ]),
  ];
  return violations.map(({ at, message }) => ({
    path: dottedPath([...OVERLAY, ...at]),
    message: `${message}; ${HOW}`,
  }));
}

const under = (key: string | number, violations: readonly Violation[]): Violation[] =>
  violations.map(({ at, message }) => ({ at: [key, ...at], message }));

type Rule = (pod: unknown, own: Belongings) => Violation[];

/** @param message completes "spec.podOverlay.spec.FIELD …" */
const notTrue =
  (field: string, message: string): Rule =>
  (pod) =>
    valueAt(pod, [field]) === true ? [{ at: [field], message }] : [];

const account =
  (field: string): Rule =>
  (pod, own) => {
    const name = valueAt(pod, [field]);
    if (name === undefined || name === own.account) return [];
    return [{ at: [field], message: 'gives the pods another account than the one that the operator made for them' }];
  };

const FORBIDDEN: readonly Rule[] = [
  notTrue('hostNetwork', "joins the node's network, where no NetworkPolicy holds"),
  notTrue('hostPID', "joins the node's processes"),
  notTrue('hostIPC', "joins the node's memory segments"),
  notTrue('shareProcessNamespace', 'lets each container read the environment and the memory of the others'),
  notTrue('automountServiceAccountToken', 'gives the pods a token for the API server'),
  account('serviceAccountName'),
  account('serviceAccount'),
  (pod) =>
    valueAt(pod, ['nodeName']) === undefined
      ? []
      : [{ at: ['nodeName'], message: 'puts the pods on a node past the scheduler and its taints; use nodeSelector' }],
  (pod) =>
    (textAt(pod, 'priorityClassName') ?? '').startsWith('system-')
      ? [{ at: ['priorityClassName'], message: 'is a class of the system, whose pods displace those of everybody' }]
      : [],
  (pod) =>
    (numberAt(pod, 'priority') ?? 0) > HIGHEST_USER_PRIORITY
      ? [{ at: ['priority'], message: 'is a priority of the system, whose pods displace those of everybody' }]
      : [],
];

/** Source: Kubernetes, "Pod Priority and Preemption": what is above belongs to the system. */
const HIGHEST_USER_PRIORITY = 1_000_000_000;

/** Labels that tools read from pods and no Service selects by. All others may be in a selector of somebody else. */
const SAFE_LABELS: ReadonlySet<string> = new Set([
  'app.kubernetes.io/part-of',
  'app.kubernetes.io/version',
  'azure.workload.identity/use',
  'istio.io/dataplane-mode',
  'istio.io/rev',
  'sidecar.istio.io/inject',
  'tags.datadoghq.com/env',
  'tags.datadoghq.com/service',
  'tags.datadoghq.com/version',
]);

/** Annotations by which a pod gets networks or loses its confinement. */
const UNSAFE_ANNOTATION =
  /^(k8s\.v1\.cni\.cncf\.io|v1\.multus-cni\.io|(seccomp|container\.seccomp)\.security\.alpha\.kubernetes\.io|container\.apparmor\.security\.beta\.kubernetes\.io)\//;

function metadataViolations(metadata: unknown): Violation[] {
  const keys = (name: string): string[] => {
    const found = valueAt(metadata, [name]);
    return isObject(found) ? Object.keys(found) : [];
  };
  const found = [
    ...keys('labels')
      .filter((key) => !SAFE_LABELS.has(key))
      .map((key) => ({
        at: ['labels', key],
        message: "can make the pods part of somebody else's Service or NetworkPolicy, which select by labels",
      })),
    ...keys('annotations')
      .filter((key) => UNSAFE_ANNOTATION.test(key))
      .map((key) => ({
        at: ['annotations', key],
        message: 'gives the pods another network or takes their confinement',
      })),
  ];
  return under('metadata', found);
}

/** Source: Kubernetes, "Pod Security Standards", restricted: Volume Types. */
const VOLUMES: ReadonlySet<string> = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);
/** The others give a pod the means to act as its account. */
const PROJECTED: ReadonlySet<string> = new Set(['clusterTrustBundle', 'configMap', 'downwardAPI', 'secret']);

const volumeViolations = (pod: unknown, claims: readonly string[]): Violation[] =>
  listAt(pod, 'volumes').flatMap((volume, index) => under('volumes', under(index, oneVolume(volume, claims))));

function oneVolume(volume: unknown, claims: readonly string[]): Violation[] {
  if (!isObject(volume)) return [];
  const types = Object.keys(volume).filter((key) => key !== 'name' && volume[key] !== null && !key.startsWith('$'));
  const claim = textAt(volume, 'persistentVolumeClaim', 'claimName');
  return [
    ...types
      .filter((type) => !VOLUMES.has(type))
      .map((type) => ({ at: [type], message: 'is a volume of the node or of the network' })),
    ...(claim === undefined || claims.includes(claim)
      ? []
      : [
          {
            at: ['persistentVolumeClaim', 'claimName'],
            message: "is not this resource's own claim; name it in spec.storage",
          },
        ]),
    ...listAt(volume, 'projected', 'sources').flatMap((source, index) =>
      Object.keys(isObject(source) ? source : {})
        .filter((kind) => !PROJECTED.has(kind))
        .map((kind) => ({
          at: ['projected', 'sources', index, kind],
          message: 'gives the pods a token or a certificate of their account',
        })),
    ),
  ];
}

const HOOKS: readonly Path[] = [
  ['startupProbe'],
  ['livenessProbe'],
  ['readinessProbe'],
  ['lifecycle', 'preStop'],
  ['lifecycle', 'postStart'],
];

function containerViolations(container: unknown): Violation[] {
  return [
    ...listAt(container, 'ports').flatMap((port, index) =>
      (numberAt(port, 'hostPort') ?? 0) !== 0
        ? [{ at: ['ports', index, 'hostPort'], message: 'opens a port of the node' }]
        : [],
    ),
    ...HOOKS.flatMap((hook) =>
      ['httpGet', 'tcpSocket'].flatMap((kind) =>
        (textAt(container, ...hook, kind, 'host') ?? '') === ''
          ? []
          : [{ at: [...hook, kind, 'host'], message: 'makes the kubelet connect to another host' }],
      ),
    ),
  ];
}
