import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import { CONFIG_HASH, REFERENCES_REVISION, RESTARTED_AT } from '../pods/annotations.ts';
import { containerSecurityContext, podSecurityContext, probes } from '../pods/hardening.ts';
import { overlay } from '../pods/overlay.ts';
import { REFERENCES_FOLDER, type ReferenceVolumes, referenceVolumes } from '../pods/references.ts';
import { withSidecarDefaults } from '../pods/sidecars.ts';
import { spread } from '../pods/spread.ts';
import type { BuildContext } from './build-context.ts';
import {
  CONFIG_FILE,
  CONFIG_FOLDER,
  CONTAINER,
  LAST_WORK_SECONDS,
  METRICS_PORT_NAME,
  PORT_NAME,
  PRE_STOP_SECONDS,
  RESOURCES,
  SHUTDOWN_VARIABLE,
  STORAGE_VOLUME,
} from './defaults.ts';
import type { EffectiveConfig } from './effective-config.ts';
import { configMapName, labelsAndAnnotations, selectorOf } from './labels.ts';
import { storageVolumeSource } from './storage-claim.ts';

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
    spec: withSidecarDefaults(
      overlay(podSpec(adapter, config, context), podOverlay?.spec ?? {}) as Readonly<Record<string, unknown>>,
      CONTAINER,
      adapter.spec.image ?? context.image,
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
      ...references.volumes,
    ],
  };
}

function container(
  { spec }: McpAdapter,
  config: EffectiveConfig,
  context: BuildContext,
  references: ReferenceVolumes,
): object {
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
    env: [...(spec.env ?? []), ...shutdownVariable(spec, config)],
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
      ...references.volumeMounts,
    ],
  };
}

/** The same name twice is refused, and what the user says counts. */
function shutdownVariable({ env = [] }: McpAdapter['spec'], { shutdownSeconds }: EffectiveConfig): object[] {
  if (env.some(({ name }) => name === SHUTDOWN_VARIABLE)) return [];
  return [{ name: SHUTDOWN_VARIABLE, value: String(shutdownSeconds) }];
}
