/** Pure: what a resource's configuration has as its default since it was made, so that no upgrade moves its data. */
import { valueAt } from '../../../lib/json/tree.ts';
import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject, Metadata } from '../../kubernetes/kubernetes.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt } from '../../kubernetes/unstructured.ts';
import { type EffectiveConfig, effectiveConfig } from './effective-config.ts';

/**
 * On the ConfigMap, the Deployment and the claim: the layout of the storage that the resource began with. A resource that
 * has it nowhere was made by a release that left both the layout and the keys in Redis to the adapter, and goes on like
 * that.
 */
const LAYOUT_LABEL = 'mcpadapter.io/storage-layout';

export interface Settled {
  readonly adapter: McpAdapter;
  /** Of the objects that remember it. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What there is already of a resource. */
export interface Remains {
  readonly configMap?: KubernetesObject | undefined;
  readonly deployment?: KubernetesObject | undefined;
  /** It outlives its resource, and so do the files in it, as they lie. */
  readonly claim?: KubernetesObject | undefined;
}

/** The object that says what the resource began with, or that it began before that was said; undefined for a new one. */
export function recordAmong({ configMap, deployment, claim }: Remains): KubernetesObject | undefined {
  const says = (one: KubernetesObject | undefined): boolean => layoutOn(one) !== undefined;
  return [configMap, deployment, claim].find(says) ?? configMap ?? deployment;
}

/** Somebody may have written anything there. */
function layoutOn(object: KubernetesObject | undefined): string | undefined {
  const layout = object?.metadata.labels?.[LAYOUT_LABEL];
  return layout === 'shared' || layout === 'per_server' ? layout : undefined;
}

/**
 * The resource with what the operator chooses where the user has not:
 *
 * - `storage.layout` is `per_server` for one that began with several servers, so that each can get its folders only;
 * - `state_persistence.redis.key_base` is its namespace and name, so that two adapters can share a Redis.
 *
 * @param record see `recordAmong`
 */
export function settled(adapter: McpAdapter, record: KubernetesObject | undefined): Settled {
  const recorded = layoutOn(record);
  if (record !== undefined && recorded === undefined) return { adapter, labels: {} };
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
