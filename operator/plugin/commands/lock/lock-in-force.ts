import { MCP_TOOL_LOCKS } from '../../../kubernetes/resources.ts';
import type { KubernetesObject } from '../../../kubernetes/kubernetes.ts';
import { locksOfAdapter } from '../../../mcp-adapter/lock/locks-of-adapter.ts';
import { untracked } from '../../../pods/untracked.ts';
import type { Cluster } from '../../cluster/connect.ts';
import { ProblemError } from '../../cluster/failures.ts';

/** The lock that counts for an adapter, as the operator chooses it; undefined where none names it. */
export async function findLock({ api, namespace }: Cluster, adapter: string): Promise<KubernetesObject | undefined> {
  const { items } = await api.list(MCP_TOOL_LOCKS, { namespace });
  return locksOfAdapter(adapter, items).chosen;
}

/** @throws ProblemError where there is none */
export async function lockInForce(cluster: Cluster, adapter: string): Promise<KubernetesObject> {
  const found = await findLock(cluster, adapter);
  if (found !== undefined) return found;
  throw new ProblemError(
    `no McpToolLock of the namespace ${cluster.namespace} names the McpAdapter ${adapter}; "lock create ${adapter}" makes one`,
  );
}

/** What of an object would stand in Git. */
export function asWritten({ apiVersion, kind, metadata, spec }: KubernetesObject): KubernetesObject {
  const { name, namespace, labels, annotations } = metadata;
  const maps = Object.entries({ labels, annotations })
    .map(([key, map]) => [key, untracked(map ?? {})] as const)
    .filter(([, map]) => Object.keys(map).length > 0);
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...Object.fromEntries(maps) },
    spec,
  };
}
