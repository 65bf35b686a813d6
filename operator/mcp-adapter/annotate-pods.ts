import { ApiError, type KubernetesApi, type KubernetesObject } from '../kubernetes/kubernetes.ts';
import { PODS } from '../kubernetes/resources.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import { TOOL_LOCK } from '../pods/annotations.ts';

const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

/** Pods that do not carry this digest of the tool lock. */
export const unannotatedPods = (pods: readonly KubernetesObject[], digest: string): KubernetesObject[] =>
  pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      !ENDED.has(textAt(pod, 'status', 'phase')) &&
      pod.metadata.annotations?.[TOOL_LOCK] !== digest,
  );

/**
 * Notes the digest on the pods themselves: the kubelet looks at the volumes of a pod that has changed at once, and of
 * others once a minute. To be called when our watch has shown the ConfigMap: the kubelet's has by then, too.
 * What is refused for one pod, as by a policy, keeps no other from being told.
 * @throws the first error of the API server or the transport, but for pods that are gone or made anew
 */
export async function annotatePods(
  api: Pick<KubernetesApi, 'merge'>,
  pods: readonly KubernetesObject[],
  digest: string,
  signal: AbortSignal,
): Promise<void> {
  const queue = unannotatedPods(pods, digest).values();
  const refused: ApiError[] = [];
  const worker = async (): Promise<void> => {
    for (const { metadata } of queue) {
      signal.throwIfAborted();
      // Another uid is refused.
      const patch = { metadata: { uid: metadata.uid, annotations: { [TOOL_LOCK]: digest } } };
      await api.merge(patch, PODS, metadata).catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        if (!GONE.has(error.code)) refused.push(error);
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const [first] = refused;
  if (first !== undefined) throw first;
}

const AT_ONCE = 8;
const GONE: ReadonlySet<number> = new Set([404, 409]);
