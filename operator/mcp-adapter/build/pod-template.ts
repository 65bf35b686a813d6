import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { ADMIN_PORT } from '../../pods/admin-port.ts';
import { CONFIG_HASH, REFERENCES_REVISION, RESTARTED_AT } from '../../pods/annotations.ts';
import { containerSecurityContext, podSecurityContext, probes } from '../../pods/hardening.ts';
import { withHeap } from '../../pods/heap.ts';
import { RESOURCES } from '../../pods/default-resources.ts';
import { overlay } from '../../pods/overlay.ts';
import { REFERENCES_FOLDER, type ReferenceVolumes, referenceVolumes } from '../../pods/references.ts';
import { withConnectRules, withSidecarDefaults } from '../../pods/sidecars.ts';
import { spread } from '../../pods/spread.ts';
import type { BuildContext } from './build-context.ts';
import { EMPTIED_VARIABLES } from '../../../crds/v1alpha1/code-variables.ts';
import {
  ADMIN_KEY_VARIABLE,
  ADMIN_PORT_VARIABLE,
  CONFIG_FILE,
  CONFIG_FOLDER,
  CONTAINER,
  LAST_WORK_SECONDS,
  LOCK_FOLDER,
  LOCK_VOLUME,
  METRICS_PORT_NAME,
  NAME_VARIABLE,
  PORT_NAME,
  PRE_STOP_SECONDS,
  SHUTDOWN_VARIABLE,
  STORAGE_VOLUME,
} from '../config/defaults.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { configMapName, labelsAndAnnotations, lockConfigMapName, selectorOf } from '../config/labels.ts';
import { nameInRedis, usesRedis } from '../config/settled-config.ts';
import { storageVolumeSource } from './storage-claim.ts';
import { withStorageFolders } from './storage-folders.ts';

/** The template of the pods, with the user's overlay laid over it. */
export function podTemplate(adapter: McpAdapter, config: EffectiveConfig, context: BuildContext, hash: string): object {
  const { podOverlay } = adapter.spec;
  const { labels, annotations } = labelsAndAnnotations(adapter, podOverlay?.metadata ?? {});
  return {
    metadata: {
      labels,
      annotations: {
        'kubectl.kubernetes.io/default-container': CONTAINER,
        ...annotations,
        ...revisions(adapter, context, hash),
      },
    },
    spec: withHeap(
      withConnectRules(
        withStorageFolders(
          withSidecarDefaults(
            overlay(podSpec(adapter, config, context), podOverlay?.spec ?? {}) as Readonly<Record<string, unknown>>,
            CONTAINER,
            adapter.spec.image ?? context.image,
          ),
          config,
        ),
        CONTAINER,
        context.apiServer,
      ),
      CONTAINER,
    ),
  };
}

/** From the decision to stop a pod to the moment that it is killed. */
export const gracePeriodSeconds = ({ shutdownSeconds, telemetrySeconds }: EffectiveConfig): number =>
  PRE_STOP_SECONDS + shutdownSeconds + LAST_WORK_SECONDS + telemetrySeconds;

/** What makes new pods when it changes. */
function revisions({ metadata }: McpAdapter, { referencesRevision }: BuildContext, hash: string) {
  const restartedAt = metadata.annotations?.[RESTARTED_AT];
  return {
    [CONFIG_HASH]: hash,
    ...(referencesRevision === undefined ? {} : { [REFERENCES_REVISION]: referencesRevision }),
    ...(restartedAt === undefined ? {} : { [RESTARTED_AT]: restartedAt }),
  };
}

function podSpec(adapter: McpAdapter, config: EffectiveConfig, context: BuildContext): object {
  const { spec, metadata } = adapter;
  const references = referenceVolumes(spec);
  return {
    serviceAccountName: metadata.name,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...(spec.imagePullSecrets?.length ? { imagePullSecrets: [...spec.imagePullSecrets] } : {}),
    securityContext: podSecurityContext(context.podSecurity, [
      config.port,
      ...(config.metrics ? [config.metrics.port] : []),
    ]),
    terminationGracePeriodSeconds: gracePeriodSeconds(config),
    // Also for a single replica: were it only above one, scaling would replace the pods that are there.
    ...spread(selectorOf(adapter)),
    containers: [container(adapter, config, context, references)],
    volumes: [
      { name: 'config', configMap: { name: configMapName(adapter) } },
      { name: STORAGE_VOLUME, ...storageVolumeSource(adapter) },
      { name: 'tmp', emptyDir: {} },
      ...(context.isLocked === true
        ? [{ name: LOCK_VOLUME, configMap: { name: lockConfigMapName(metadata.name) } }]
        : []),
      ...references.volumes,
    ],
  };
}

function container(
  adapter: McpAdapter,
  config: EffectiveConfig,
  context: BuildContext,
  references: ReferenceVolumes,
): object {
  const { spec, metadata } = adapter;
  return {
    name: CONTAINER,
    image: spec.image ?? context.image,
    ...(spec.imagePullPolicy === undefined ? {} : { imagePullPolicy: spec.imagePullPolicy }),
    command: ['mcp-adapter'],
    args: [
      '--config',
      `${CONFIG_FOLDER}/${CONFIG_FILE}`,
      ...(references.volumes.length > 0 ? ['--references', REFERENCES_FOLDER] : []),
      // A port that only the pods would know could stand in no Service.
      ...(config.portUnknown ? ['--port', String(config.port)] : []),
    ],
    // Relative paths in the configuration mean the same in all images.
    workingDir: '/',
    env: [
      ...(spec.env ?? []),
      ...variable(spec, SHUTDOWN_VARIABLE, String(config.shutdownSeconds)),
      ...adminVariables(adapter, config),
      ...(usesRedis(config) ? variable(spec, NAME_VARIABLE, nameInRedis(metadata)) : []),
      ...emptiedVariables(spec),
    ],
    ...(spec.envFrom?.length ? { envFrom: [...spec.envFrom] } : {}),
    ports: [
      { name: PORT_NAME, containerPort: config.port, protocol: 'TCP' },
      ...(config.metrics === undefined
        ? []
        : [{ name: METRICS_PORT_NAME, containerPort: config.metrics.port, protocol: 'TCP' }]),
    ],
    ...probes(PORT_NAME),
    lifecycle: { preStop: { sleep: { seconds: PRE_STOP_SECONDS } } },
    resources: spec.resources ?? RESOURCES,
    securityContext: containerSecurityContext(context.podSecurity),
    volumeMounts: [
      { name: 'config', mountPath: CONFIG_FOLDER, readOnly: true },
      { name: STORAGE_VOLUME, mountPath: config.storageRoot },
      ...(config.storageRoot === '/tmp' ? [] : [{ name: 'tmp', mountPath: '/tmp' }]),
      ...(context.isLocked === true ? [{ name: LOCK_VOLUME, mountPath: LOCK_FOLDER, readOnly: true }] : []),
      ...references.volumeMounts,
    ],
  };
}

/**
 * Where the plugin for kubectl is answered. The key is the uid of the resource: whoever may read the resource knows it, and
 * other containers of the pod, which reach 127.0.0.1 too, do not. Without a cluster there is none.
 */
function adminVariables({ spec, metadata: { uid } }: McpAdapter, { port, metrics }: EffectiveConfig): object[] {
  if (uid === undefined) return [];
  let adminPort = ADMIN_PORT;
  while (adminPort === port || adminPort === metrics?.port) adminPort += 1;
  return [...variable(spec, ADMIN_PORT_VARIABLE, String(adminPort)), ...variable(spec, ADMIN_KEY_VARIABLE, uid)];
}

/** What the objects of `envFrom` hold is known to the pods only; some names in them would be code. */
const emptiedVariables = ({ envFrom = [] }: McpAdapter['spec']): object[] =>
  envFrom.length === 0 ? [] : EMPTIED_VARIABLES.map((name) => ({ name, value: '' }));

/** The same name twice is refused, and what the user says counts. */
function variable({ env = [] }: McpAdapter['spec'], name: string, value: string): object[] {
  return env.some((one) => one.name === name) ? [] : [{ name, value }];
}
