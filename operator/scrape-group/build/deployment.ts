import { CONFIG_HASH, REFERENCES_REVISION, RESTARTED_AT } from '../../pods/annotations.ts';
import { containerSecurityContext, podSecurityContext, probes } from '../../pods/hardening.ts';
import { withHeap } from '../../pods/heap.ts';
import { overlay } from '../../pods/overlay.ts';
import { REFERENCES_FOLDER, type ReferenceVolumes, referenceVolumes } from '../../pods/references.ts';
import { RESOURCES } from '../../pods/default-resources.ts';
import { withConnectRules, withSidecarDefaults } from '../../pods/sidecars.ts';
import { spread } from '../../pods/spread.ts';
import { hashOf } from '../../kubernetes/content-hash.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { DEPLOYMENTS } from '../../kubernetes/resources.ts';
import type { BuildContext } from './build-context.ts';
import { childMetadata } from './child-metadata.ts';
import { CONFIG_FILE } from './config-map.ts';
import { ADMIN_PORT } from '../../pods/admin-port.ts';
import {
  ADMIN_KEY_VARIABLE,
  ADMIN_PORT_VARIABLE,
  CONFIG_FOLDER,
  CONTAINER,
  PORT_NAME,
  STATE,
  STATE_FOLDER,
} from '../group/defaults.ts';
import { configMapName, shardLabels, shardName, shardSelector } from '../group/names.ts';
import type { ShardPlan } from './plan.ts';
import { TMP, isInTmp, stateVolume } from './state-volume.ts';

/** Seconds that the program has for its last work after running windows have ended. */
const LAST_WORK_SECONDS = 10;

type Context = Pick<BuildContext, 'image' | 'podSecurity' | 'apiServer' | 'referencesRevision'>;

export function deployment(plan: ShardPlan, context: Context): KubernetesObject {
  return {
    apiVersion: DEPLOYMENTS.apiVersion,
    kind: DEPLOYMENTS.kind,
    metadata: childMetadata(plan),
    spec: {
      replicas: plan.replicas,
      selector: { matchLabels: shardSelector(plan.group, plan.shard) },
      // Two pods must not scrape the same with a state of their own each.
      strategy: plan.effective.sharedState
        ? { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
        : { type: 'Recreate' },
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 3,
      template: podTemplate(plan, context),
    },
  };
}

/** The template of the pods, with the users' overlay laid over it. */
function podTemplate(plan: ShardPlan, context: Context): object {
  const { podOverlay } = plan.pod;
  const revision = context.referencesRevision(plan.shard);
  return {
    metadata: {
      labels: { ...podOverlay?.metadata?.labels, ...shardLabels(plan.group, plan.shard) },
      annotations: {
        'kubectl.kubernetes.io/default-container': CONTAINER,
        ...podOverlay?.metadata?.annotations,
        // Of the settings only: the pods read their sources again when these change.
        [CONFIG_HASH]: hashOf(plan.scraper).slice(0, 16),
        ...(revision === undefined ? {} : { [REFERENCES_REVISION]: revision }),
        ...(plan.restartedAt === undefined ? {} : { [RESTARTED_AT]: plan.restartedAt }),
      },
    },
    spec: withHeap(
      withConnectRules(
        withSidecarDefaults(
          overlay(podSpec(plan, context), podOverlay?.spec ?? {}) as Readonly<Record<string, unknown>>,
          CONTAINER,
          plan.pod.image ?? context.image,
        ),
        CONTAINER,
        context.apiServer,
      ),
      CONTAINER,
    ),
  };
}

function podSpec(plan: ShardPlan, context: Context): object {
  const { group, shard, pod } = plan;
  const references = referenceVolumes(plan.variables);
  return {
    serviceAccountName: shardName(group, shard),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...(pod.imagePullSecrets?.length ? { imagePullSecrets: [...pod.imagePullSecrets] } : {}),
    securityContext: podSecurityContext(context.podSecurity, [plan.effective.port]),
    terminationGracePeriodSeconds: plan.effective.shutdownSeconds + LAST_WORK_SECONDS,
    // Also for a single replica: were it only above one, scaling would replace the pods that are there.
    ...spread(shardSelector(group, shard)),
    containers: [container(plan, context, references)],
    volumes: [
      { name: 'config', configMap: { name: configMapName(group, shard) } },
      stateVolume(plan),
      { name: TMP, emptyDir: {} },
      ...references.volumes,
    ],
  };
}

function container(plan: ShardPlan, context: Context, references: ReferenceVolumes): object {
  const {
    pod,
    variables: { env, envFrom },
    effective: { port, stateFolder },
  } = plan;
  const variables = [...env, ...adminVariables(plan)];
  return {
    name: CONTAINER,
    image: pod.image ?? context.image,
    ...(pod.imagePullPolicy === undefined ? {} : { imagePullPolicy: pod.imagePullPolicy }),
    command: ['otel-api-scraper'],
    args: [
      '--config',
      `${CONFIG_FOLDER}/${CONFIG_FILE}`,
      // Other shards, and other groups, may use the same store, and their pods have other sources.
      '--shard',
      `${plan.namespace}/${shardName(plan.group, plan.shard)}`,
      ...(references.volumes.length > 0 ? ['--references', REFERENCES_FOLDER] : []),
    ],
    // The path of the state is relative by default.
    workingDir: STATE_FOLDER,
    ...(variables.length > 0 ? { env: variables } : {}),
    ...(envFrom.length > 0 ? { envFrom } : {}),
    ports: [{ name: PORT_NAME, containerPort: port, protocol: 'TCP' }],
    ...probes(PORT_NAME),
    resources: pod.resources ?? RESOURCES,
    securityContext: containerSecurityContext(context.podSecurity),
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_FOLDER, readOnly: true },
      { name: STATE, mountPath: STATE_FOLDER },
      ...(stateFolder === STATE_FOLDER || isInTmp(stateFolder) ? [] : [{ name: STATE, mountPath: stateFolder }]),
      { name: TMP, mountPath: '/tmp' },
      ...references.volumeMounts,
    ],
  };
}

/** Where the plugin for kubectl is answered; variables of sources have other names. */
function adminVariables({ adminKey, effective: { port } }: ShardPlan): object[] {
  if (adminKey === undefined) return [];
  const adminPort = ADMIN_PORT === port ? ADMIN_PORT + 1 : ADMIN_PORT;
  return [
    { name: ADMIN_PORT_VARIABLE, value: String(adminPort) },
    { name: ADMIN_KEY_VARIABLE, value: adminKey },
  ];
}
