/** Objects of a cluster as controllers and kubelets leave them, for tests. */
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import type { PodHealth } from '../health/pod-health.ts';

export interface DeploymentState {
  readonly generation?: number;
  readonly observedGeneration?: number;
  readonly wanted?: number;
  readonly total?: number;
  readonly updated?: number;
  readonly available?: number;
  readonly conditions?: readonly object[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/** By default: one pod is wanted and serves. */
export function deploymentWith(state: DeploymentState = {}): KubernetesObject {
  const { generation = 1, wanted = 1, annotations = { 'mcpadapter.io/config-hash': 'abc' } } = state;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'demo', namespace: 'team', uid: 'uid-deployment', generation },
    spec: {
      replicas: wanted,
      template: { metadata: { annotations }, spec: { containers: [{ name: 'adapter', image: 'adapter:1' }] } },
    },
    status: {
      observedGeneration: state.observedGeneration ?? generation,
      replicas: state.total ?? wanted,
      updatedReplicas: state.updated ?? wanted,
      availableReplicas: state.available ?? wanted,
      readyReplicas: state.available ?? wanted,
      conditions: state.conditions ?? [],
    },
  };
}

export interface PodState {
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of the container `adapter`. */
  readonly container?: object;
  readonly conditions?: readonly object[];
  readonly phase?: string;
  readonly ip?: string;
  readonly port?: number;
  readonly image?: string;
}

/** By default: running, and ready since the start of 2026. */
export function podWith(state: PodState = {}): KubernetesObject {
  const { annotations = { 'mcpadapter.io/config-hash': 'abc' }, image = 'adapter:1', port = 8932 } = state;
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: state.name ?? 'demo-1',
      namespace: 'team',
      annotations,
      labels: { 'mcpadapter.io/adapter': 'demo' },
    },
    spec: { containers: [{ name: 'adapter', image, ports: [{ name: 'http', containerPort: port }] }] },
    status: {
      phase: state.phase ?? 'Running',
      podIP: state.ip ?? '10.0.0.1',
      conditions: state.conditions ?? [ready],
      containerStatuses: [{ name: 'adapter', image, ready: true, restartCount: 0, ...state.container }],
    },
  };
}

export const notReady = [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }];

/** A pod whose container waits for a reason. */
export const waitingPod = (reason: string, message: string, more: object = {}): KubernetesObject =>
  podWith({
    container: { ready: false, state: { waiting: { reason, message } }, ...more },
    conditions: notReady,
    phase: 'Pending',
  });

/** A pod's word on its servers: their names, unhealthy ones with a `!` in front. */
export function healthWith(servers: readonly string[], more: Partial<PodHealth> = {}): PodHealth {
  return {
    pod: 'demo-1',
    servers: servers.map((name) => ({
      id: name.replace('!', ''),
      mountPath: `/${name.replace('!', '')}`,
      healthy: !name.startsWith('!'),
      detail: name.startsWith('!') ? 'connect ECONNREFUSED' : undefined,
    })),
    stateStore: { healthy: true, detail: undefined },
    issuers: undefined,
    referencesChanged: false,
    warnings: [],
    ...more,
  };
}
