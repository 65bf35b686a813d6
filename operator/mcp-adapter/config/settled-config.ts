/** Pure: what a resource's configuration has as its default since it was made, so that no upgrade moves its data. */
import { valueAt } from '../../../lib/json/tree.ts';
import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject, Metadata } from '../../kubernetes/kubernetes.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt } from '../../kubernetes/unstructured.ts';
import { type EffectiveConfig, effectiveConfig } from './effective-config.ts';

/**
 * On the ConfigMap: the layout of the storage that the resource began with. A ConfigMap without it was made by a release
 * that left both the layout and the keys in Redis to the adapter, and its resource goes on like that.
 */
const LAYOUT_LABEL = 'mcpadapter.io/storage-layout';

export interface Settled {
  readonly adapter: McpAdapter;
  /** Of the ConfigMap. */
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * The resource with what the operator chooses where the user has not:
 *
 * - `storage.layout` is `per_server` for one that began with several servers, so that each can get its folders only;
 * - `state_persistence.redis.key_base` is its namespace and name, so that two adapters can share a Redis.
 */
export function settled(adapter: McpAdapter, live: KubernetesObject | undefined): Settled {
  const recorded = live?.metadata.labels?.[LAYOUT_LABEL];
  if (live !== undefined && recorded === undefined) return { adapter, labels: {} };
  const several = listAt(adapter.spec.config, 'servers').length > 1;
  const layout = recorded ?? (several ? 'per_server' : 'shared');
  let config: unknown = adapter.spec.config;
  if (layout === 'per_server') config = withDefault(config, ['storage', 'layout'], layout);
  if (usesRedis(effectiveConfig(adapter.spec))) {
    const keyBase = `mcp:${nameInRedis(adapter.metadata)}`;
    config = withDefault(config, ['state_persistence', 'redis', 'key_base'], keyBase);
  }
  const spec = { ...adapter.spec, config: config as McpAdapter['spec']['config'] };
  return { adapter: { ...adapter, spec }, labels: { [LAYOUT_LABEL]: layout } };
}

/** Also where only the pods know the type of the state. */
export const usesRedis = ({ stateType }: Pick<EffectiveConfig, 'stateType'>): boolean =>
  stateType === 'redis' || stateType === undefined;

export const nameInRedis = ({ namespace = 'default', name }: Pick<Metadata, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;

/** The document with a value at this path, unless there is one; maps on the way are made. */
function withDefault(document: unknown, path: readonly string[], value: string): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return document ?? value;
  if (document !== undefined && document !== null && !isObject(document)) return document;
  return { ...document, [key]: withDefault(valueAt(document, [key]), rest, value) };
}
