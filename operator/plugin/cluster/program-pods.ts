import { MCP_ADAPTERS, PODS } from '../../kubernetes/resources.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { ADMIN_KEY_VARIABLE, ADMIN_PORT_VARIABLE, CONTAINER } from '../../mcp-adapter/config/defaults.ts';
import { ADAPTER_LABEL } from '../../mcp-adapter/config/labels.ts';
import { askPod, jsonOf, type PodRequest } from './ask-pod.ts';
import type { Cluster } from './connect.ts';
import { ProblemError, UnreachableError } from './failures.ts';

/** @throws ProblemError when there is none of this name */
export async function adapterOf({ api, namespace }: Cluster, name: string): Promise<KubernetesObject> {
  const found = await api.get(MCP_ADAPTERS, { name, namespace });
  if (found === undefined) throw new ProblemError(`there is no McpAdapter ${name} in the namespace ${namespace}`);
  return found;
}

/** The pods of an adapter, by their names; those that are ending too. */
export async function adapterPods({ api, namespace }: Cluster, name: string): Promise<KubernetesObject[]> {
  const { items } = await api.list(PODS, { namespace, labelSelector: `${ADAPTER_LABEL}=${name}` });
  return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

export function isRunning(pod: KubernetesObject): boolean {
  return pod.metadata.deletionTimestamp === undefined && textAt(pod, 'status', 'phase') === 'Running';
}

export function isReady(pod: KubernetesObject): boolean {
  return listAt(pod, 'status', 'conditions').some(
    (one) => textAt(one, 'type') === 'Ready' && textAt(one, 'status') === 'True',
  );
}

/** A pod that serves, or at least runs. @throws ProblemError */
export async function onePod(cluster: Cluster, name: string): Promise<KubernetesObject> {
  const pods = (await adapterPods(cluster, name)).filter(isRunning);
  const pod = pods.find(isReady) ?? pods[0];
  if (pod !== undefined) return pod;
  throw new ProblemError(`no pod of a McpAdapter ${name} runs in the namespace ${cluster.namespace}`);
}

/** A program that answers who operates it, and the names of what says where. */
export interface Program {
  readonly container: string;
  readonly portVariable: string;
  readonly keyVariable: string;
}

const ADAPTER: Program = {
  container: CONTAINER,
  portVariable: ADMIN_PORT_VARIABLE,
  keyVariable: ADMIN_KEY_VARIABLE,
};

/** What the adapter in a pod answers to who operates it. @throws ApiError, UnreachableError, ProblemError */
export const askAdapter = (
  cluster: Cluster,
  pod: KubernetesObject,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<unknown> => askProgram(cluster, pod, ADAPTER, { method, path, ...(body !== undefined && { body }) });

/** What the program did not do, and why not. */
const REFUSED: ReadonlySet<number> = new Set([400, 404, 409]);

/** @throws ApiError, UnreachableError, ProblemError */
export async function askProgram(
  cluster: Cluster,
  pod: KubernetesObject,
  { container: ofProgram, portVariable, keyVariable }: Program,
  asked: Pick<PodRequest, 'method' | 'path' | 'body'>,
): Promise<unknown> {
  const { name } = pod.metadata;
  const container = listAt(pod, 'spec', 'containers').find((one) => textAt(one, 'name') === ofProgram);
  const env = (variable: string): string => {
    const found = listAt(container, 'env').find((one) => textAt(one, 'name') === variable);
    return textAt(found, 'value') ?? '';
  };
  const [port, key] = [Number(env(portVariable)), env(keyVariable)];
  if (!(port > 0) || key === '') {
    throw new UnreachableError(`pod ${name} does not answer operators: its image or its variables have no admin port`);
  }
  const at = { namespace: cluster.namespace, pod: name, port };
  const answer = await askPod(cluster, at, { ...asked, headers: { authorization: `Bearer ${key}` } });
  const said = jsonOf(answer, name);
  if (answer.status < 300) return said;
  const detail = textAt(said, 'detail') ?? `HTTP ${answer.status}`;
  // As what has no route for the path says.
  if (answer.status === 404 && detail === 'Not Found') {
    throw new UnreachableError(`pod ${name} runs a version that does not answer this`);
  }
  if (REFUSED.has(answer.status)) throw new ProblemError(detail);
  throw new UnreachableError(`pod ${name}: ${detail}`);
}
