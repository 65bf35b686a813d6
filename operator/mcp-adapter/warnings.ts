/** What of a specification works, but perhaps not as meant. */
import type { McpAdapterSpec } from '../../crds/v1alpha1/mcp-adapter.ts';
import { CONTAINER } from './defaults.ts';
import type { EffectiveConfig } from './effective-config.ts';
import { listAt, textAt } from './raw.ts';

export function warningsOf(
  { podOverlay }: Pick<McpAdapterSpec, 'podOverlay'>,
  { statePathOutside: file }: Pick<EffectiveConfig, 'statePathOutside'>,
): string[] {
  if (file === undefined || mountsOf(podOverlay).some((mount) => holds(mount, file))) return [];
  return [
    `The state file ${file} lies outside of spec.config.storage.root, where nothing is mounted that outlives a pod: it is ` +
      'lost with its pod, or cannot be written at all. Leave spec.config.state_persistence.disk.local_path out, or mount ' +
      'a volume there with spec.podOverlay',
  ];
}

/** Folders and files that the user mounts into the adapter. */
const mountsOf = (podOverlay: unknown): string[] =>
  listAt(podOverlay, 'spec', 'containers')
    .filter((container) => textAt(container, 'name') === CONTAINER)
    .flatMap((container) => listAt(container, 'volumeMounts'))
    .map((mount) => (textAt(mount, 'mountPath') ?? '').replace(/\/+$/, ''))
    .filter((path) => path !== '');

const holds = (mount: string, file: string): boolean => file === mount || file.startsWith(`${mount}/`);
