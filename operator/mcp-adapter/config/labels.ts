/** Names and labels of what belongs to one McpAdapter. */
import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { untracked } from '../../pods/untracked.ts';
import type { Metadata } from '../../kubernetes/kubernetes.ts';

export const ADAPTER_LABEL = 'mcpadapter.io/adapter';

/** A Deployment's selector cannot change, so this holds nothing that ever could. */
export const selectorOf = ({ metadata }: McpAdapter): Record<string, string> => ({ [ADAPTER_LABEL]: metadata.name });

const labelsOf = (adapter: McpAdapter): Record<string, string> => ({
  'app.kubernetes.io/name': 'mcp-adapter',
  'app.kubernetes.io/component': 'adapter',
  'app.kubernetes.io/managed-by': 'mcp-operator',
  ...selectorOf(adapter),
});

export const configMapName = ({ metadata }: McpAdapter): string => `${metadata.name}-config`;
export const lockConfigMapName = (name: string): string => `${name}-tool-lock`;
export const metricsServiceName = ({ metadata }: McpAdapter): string => `${metadata.name}-metrics`;
export const storageClaimName = ({ metadata }: McpAdapter): string => `${metadata.name}-storage`;

/** What a user adds to an object of ours. */
interface More {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Metadata of a child. Our labels win over those that a user adds. */
export function childMetadata(adapter: McpAdapter, name: string, more: More = {}): Metadata {
  const { namespace } = adapter.metadata;
  return { name, ...(namespace === undefined ? {} : { namespace }), ...labelsAndAnnotations(adapter, more) };
}

export function labelsAndAnnotations(adapter: McpAdapter, { labels = {}, annotations = {} }: More) {
  const extra = untracked(annotations);
  return {
    labels: { ...untracked(labels), ...labelsOf(adapter) },
    ...(Object.keys(extra).length > 0 ? { annotations: extra } : {}),
  };
}
