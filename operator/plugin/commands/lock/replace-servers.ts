import { ApiError, type KubernetesObject } from '../../../kubernetes/kubernetes.ts';
import { MCP_TOOL_LOCKS } from '../../../kubernetes/resources.ts';
import type { Cluster } from '../../cluster/connect.ts';
import { ProblemError } from '../../cluster/failures.ts';
import { findLock } from './lock-in-force.ts';

/** Writers of the lock's status may be quicker; of its document none may. */
const ATTEMPTS = 3;
const MANAGER = 'kubectl-mcpadapter';

export interface LockChange {
  /** Of the McpAdapter. */
  readonly name: string;
  readonly before: KubernetesObject;
  readonly object: KubernetesObject;
}

/**
 * Applies the servers of the document over the lock as it was read; `servers` is one value. The mode stays whose it is.
 * @throws ProblemError when somebody else has changed it meanwhile
 */
export async function replaceServers(
  cluster: Cluster,
  { name, before, object }: LockChange,
  signal: AbortSignal,
): Promise<void> {
  const { adapterRef, servers } = object['spec'] as { readonly adapterRef: object; readonly servers: object };
  for (let attempt = 1; ; attempt++) {
    const now = await findLock(cluster, name);
    if (now?.metadata.uid !== before.metadata.uid || now?.metadata.generation !== before.metadata.generation) {
      throw new ProblemError(`the McpToolLock ${before.metadata.name} was changed meanwhile, and stays as it is`);
    }
    const { apiVersion, kind, metadata } = now ?? before;
    const { name: own, namespace = '', uid = '', resourceVersion = '' } = metadata;
    const applied = { apiVersion, kind, metadata: { name: own, namespace, uid, resourceVersion } };
    try {
      await cluster.api.apply({ ...applied, spec: { adapterRef, servers } }, MCP_TOOL_LOCKS, {
        fieldManager: MANAGER,
        signal,
      });
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 409 || attempt >= ATTEMPTS) throw error;
    }
  }
}
