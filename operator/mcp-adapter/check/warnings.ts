/** What of a specification works, but perhaps not as meant. */
import { withoutEndSlashes } from '../../../lib/slashes.ts';
import { valueAt } from '../../../lib/json/tree.ts';
import type { McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { RESOURCES } from '../../pods/default-resources.ts';
import { overlay } from '../../pods/overlay.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { CONTAINER } from '../config/defaults.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';

export function warningsOf(
  spec: Pick<McpAdapterSpec, 'podOverlay' | 'serviceMonitor' | 'autoscaling' | 'resources'> &
    Partial<Pick<McpAdapterSpec, 'config'>>,
  config: Pick<EffectiveConfig, 'statePathOutside' | 'auditPathOutside' | 'metrics'>,
): string[] {
  return [
    ...lostFile(
      'state file',
      config.statePathOutside,
      'Leave spec.config.state_persistence.disk.local_path out,',
      spec,
    ),
    ...lostFile(
      'audit log',
      config.auditPathOutside,
      'Leave spec.config.telemetry.audit_log.path out, so that its lines go to standard output,',
      spec,
    ),
    ...idleMonitor(spec, config),
    ...idleAutoscaler(spec),
    ...unsafeServers(spec),
  ];
}

/** @param advice where the file should be instead, unless a volume is mounted where it is */
function lostFile(
  what: string,
  file: string | undefined,
  advice: string,
  { podOverlay }: Pick<McpAdapterSpec, 'podOverlay'>,
): string[] {
  if (file === undefined || mountsOf(podOverlay).some((mount) => holds(mount, file))) return [];
  return [
    `The ${what} ${file} lies outside of spec.config.storage.root, where nothing is mounted that outlives a pod: it is ` +
      `lost with its pod, or cannot be written at all. ${advice} or mount a volume there with spec.podOverlay`,
  ];
}

/** The upstream could use what it gets elsewhere, as the client. */
function unsafeServers({ config }: Partial<Pick<McpAdapterSpec, 'config'>>): string[] {
  const unsafe = listAt(config, 'servers').flatMap((server, index) => {
    const passthrough = listAt(server, 'upstream', 'client_headers', 'passthrough');
    return passthrough.some((name) => String(name).trim().toLowerCase() === 'authorization')
      ? [`spec.config.servers[${index}]`]
      : [];
  });
  if (unsafe.length === 0) return [];
  return [
    `Clients' Authorization is passed on to the upstreams of ${unsafe.join(', ')}, which could use it elsewhere. Give these ` +
      'upstreams credentials of their own, in static_headers',
  ];
}

function idleMonitor(
  { serviceMonitor }: Pick<McpAdapterSpec, 'serviceMonitor'>,
  { metrics }: Pick<EffectiveConfig, 'metrics'>,
): string[] {
  if (serviceMonitor?.enabled !== true || metrics !== undefined) return [];
  return [
    'There is no ServiceMonitor, although spec.serviceMonitor.enabled is true: nothing serves metrics. Set ' +
      'spec.config.telemetry.prometheus.enabled, and no loopback address as its host',
  ];
}

/** The autoscaler counts in parts of what is requested. */
function idleAutoscaler({
  autoscaling,
  resources = RESOURCES,
  podOverlay,
}: Pick<McpAdapterSpec, 'autoscaling' | 'resources' | 'podOverlay'>): string[] {
  if (autoscaling === undefined || (autoscaling.metrics?.length ?? 0) > 0) return [];
  const actual = ours(podOverlay).reduce<unknown>((base, one) => overlay(base, one), { resources });
  const isRequested = ['requests', 'limits'].some((kind) => valueAt(actual, ['resources', kind, 'cpu']) !== undefined);
  if (isRequested) return [];
  return [
    'The autoscaler cannot count the CPU of pods whose adapter requests none: set spec.resources.requests.cpu, or ' +
      'spec.autoscaling.metrics',
  ];
}

/** What is laid over the container of the adapter. */
const ours = (podOverlay: unknown): unknown[] =>
  listAt(podOverlay, 'spec', 'containers').filter((container) => textAt(container, 'name') === CONTAINER);

/** Folders and files that the user mounts into the adapter. */
const mountsOf = (podOverlay: unknown): string[] =>
  ours(podOverlay)
    .flatMap((container) => listAt(container, 'volumeMounts'))
    .map((mount) => withoutEndSlashes(textAt(mount, 'mountPath') ?? ''))
    .filter((path) => path !== '');

const holds = (mount: string, file: string): boolean => file === mount || file.startsWith(`${mount}/`);
