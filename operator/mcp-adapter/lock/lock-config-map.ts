import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { Desired } from '../../apply/desired.ts';
import type { KubernetesApi, KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { CONFIG_MAPS, MCP_TOOL_LOCKS } from '../../kubernetes/resources.ts';
import { TOOL_LOCK } from '../../pods/annotations.ts';
import type { Child } from '../build/build.ts';
import { LOCK_FILE } from '../config/defaults.ts';
import { childMetadata, lockConfigMapName } from '../config/labels.ts';
import { type CachedLock, type LockText, lockText } from './cached-lock.ts';

/** The ConfigMap that brings a lock to the pods. Not part of `build`: a lock is too large to be handed to a thread. */
export function lockConfigMap(adapter: McpAdapter, { text, digest }: LockText): Child {
  const { object, ...child } = withoutText(adapter, digest);
  return { ...child, object: { ...object, data: { [LOCK_FILE]: text } } };
}

/**
 * The same of a lock that the caches know. Its digest stands for the text, which is read when it is to be written: it may
 * be a later one by then, and is nothing where the lock has gone or can no longer be used.
 */
export function lockConfigMapOf(adapter: McpAdapter, lock: CachedLock, api: Pick<KubernetesApi, 'get'>): Desired {
  return {
    ...withoutText(adapter, lock.content.digest),
    async whole(signal): Promise<KubernetesObject | undefined> {
      const live = await api.get(MCP_TOOL_LOCKS, lock.metadata, signal);
      const read = lockText(live?.['spec']);
      return read.refusal === undefined ? lockConfigMap(adapter, read).object : undefined;
    },
  };
}

const withoutText = (adapter: McpAdapter, digest: string): Child => ({
  resource: CONFIG_MAPS,
  object: {
    apiVersion: CONFIG_MAPS.apiVersion,
    kind: CONFIG_MAPS.kind,
    metadata: childMetadata(adapter, lockConfigMapName(adapter.metadata.name), { labels: { [TOOL_LOCK]: digest } }),
  },
  owned: true,
});
