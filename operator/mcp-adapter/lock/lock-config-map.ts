import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { CONFIG_MAPS } from '../../kubernetes/resources.ts';
import { TOOL_LOCK } from '../../pods/annotations.ts';
import type { Child } from '../build/build.ts';
import { LOCK_FILE } from '../config/defaults.ts';
import { childMetadata, lockConfigMapName } from '../config/labels.ts';
import type { LockContent } from './cached-lock.ts';

/** The ConfigMap that brings a lock to the pods. Not part of `build`: a lock is too large to be handed to a thread. */
export function lockConfigMap(adapter: McpAdapter, { text, digest }: LockContent): Child {
  const labels = { [TOOL_LOCK]: digest };
  return {
    resource: CONFIG_MAPS,
    object: {
      apiVersion: CONFIG_MAPS.apiVersion,
      kind: CONFIG_MAPS.kind,
      metadata: childMetadata(adapter, lockConfigMapName(adapter.metadata.name), { labels }),
      data: { [LOCK_FILE]: text },
    },
    owned: true,
  };
}
