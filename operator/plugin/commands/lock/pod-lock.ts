import { readYaml } from '../../../../crds/config/load/yaml-source.ts';
import { McpToolLockSpec } from '../../../../crds/v1alpha1/mcp-tool-lock.ts';
import { isObject } from '../../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../../kubernetes/unstructured.ts';
import type { KubernetesObject } from '../../../kubernetes/kubernetes.ts';
import type { Cluster } from '../../cluster/connect.ts';
import { UnreachableError } from '../../cluster/failures.ts';
import { askAdapter, onePod } from '../../cluster/program-pods.ts';

export interface LockQuestion {
  readonly action: 'create' | 'diff' | 'approve';
  /** A McpToolLock; for `create` one without servers. */
  readonly lock: KubernetesObject;
  /** Ids; none: all. */
  readonly servers: readonly string[];
  readonly names?: readonly string[];
  readonly output?: 'text' | 'json';
  readonly coloured?: boolean;
}

export interface PodLockAnswer {
  readonly text: string;
  /** For people, one line each. */
  readonly notes: readonly string[];
  readonly approved: readonly string[];
  /** As that of `mcp-adapter lock`. */
  readonly exitCode: number;
}

/** Lets a pod ask its servers and say what `mcp-adapter lock` would. @throws ApiError, UnreachableError, ProblemError */
export async function askedLock(cluster: Cluster, adapter: string, question: LockQuestion): Promise<PodLockAnswer> {
  const pod = await onePod(cluster, adapter);
  const said = await askAdapter(cluster, pod, 'POST', '/v1/lock', question);
  const exitCode = numberAt(said, 'exitCode');
  const text = textAt(said, 'text');
  if (exitCode === undefined || text === undefined) throw strange(pod.metadata.name);
  return { text, exitCode, notes: textsIn(said, 'notes'), approved: textsIn(said, 'approved') };
}

const textsIn = (said: unknown, member: string): string[] =>
  listAt(said, member).filter((one) => typeof one === 'string');

const strange = (pod: string): UnreachableError => new UnreachableError(`pod ${pod} answered with something else`);

/**
 * The lock that a pod has written, in the object that was sent to it: of what it says only the document counts.
 * @throws UnreachableError for what is no lock
 */
export function lockOf(sent: KubernetesObject, text: string): KubernetesObject {
  const said = readYaml(text).value;
  const spec: unknown = isObject(said) ? said['spec'] : undefined;
  const { adapterRef } = sent['spec'] as { readonly adapterRef: object };
  const written = isObject(spec) ? { ...spec, adapterRef } : undefined;
  if (written === undefined || !McpToolLockSpec.safeParse(written).success) {
    throw new UnreachableError('the pod answered with something else than a McpToolLock');
  }
  return { ...sent, spec: written };
}
