import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { CONFIG_MAPS } from '../../kubernetes/resources.ts';
import { completedConfig } from '../config/completed-config.ts';
import { CONFIG_FILE } from '../config/defaults.ts';
import { childMetadata, configMapName } from '../config/labels.ts';

/** The configuration as the resource has it, with references, whose values only the pods get, and completed. */
export function configMap(
  adapter: McpAdapter,
  labels: Readonly<Record<string, string>>,
): KubernetesObject & { readonly data: Readonly<Record<string, string>> } {
  return {
    apiVersion: CONFIG_MAPS.apiVersion,
    kind: CONFIG_MAPS.kind,
    metadata: childMetadata(adapter, configMapName(adapter), { labels }),
    data: { [CONFIG_FILE]: configFile(adapter) },
  };
}

/** Sorted as the API server sorts, so that a resource rendered from a file gives the same text as one in a cluster. */
function configFile(adapter: McpAdapter): string {
  const yaml = stringify(completedConfig(adapter), {
    sortMapEntries: true,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
  return `# Written by mcp-operator from spec.config of the McpAdapter ${adapter.metadata.name}, which is the place for changes.\n${yaml}`;
}

/** Of the file, so that a program that hashes the file it runs with gets the same. */
export function configHash(data: Readonly<Record<string, string>>): string {
  return createHash('sha256')
    .update(data[CONFIG_FILE] ?? '')
    .digest('hex')
    .slice(0, 16);
}
