/** Pure: which pods are of a Deployment's newest revision, and whether they must be made anew. */
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { listAt, textAt } from '../kubernetes/unstructured.ts';
import { CONFIG_HASH, REFERENCES_REVISION, RESTARTED_AT } from '../pods/annotations.ts';

/** Annotations of the template with which pods are told apart; `kubectl rollout restart` sets the last. */
const MARKS = [CONFIG_HASH, REFERENCES_REVISION, RESTARTED_AT, 'kubectl.kubernetes.io/restartedAt'];

const templateAnnotation = (deployment: KubernetesObject | undefined, name: string): string | undefined =>
  textAt(deployment, 'spec', 'template', 'metadata', 'annotations', name);

/** Pods of the template as it is now. */
export function newestPods(
  deployment: KubernetesObject | undefined,
  pods: readonly KubernetesObject[],
): KubernetesObject[] {
  const containers = listAt(deployment, 'spec', 'template', 'spec', 'containers');
  const sameMarks = (pod: KubernetesObject): boolean =>
    MARKS.every((mark) => pod.metadata.annotations?.[mark] === templateAnnotation(deployment, mark));
  const sameImages = (pod: KubernetesObject): boolean =>
    containers.every((container) =>
      listAt(pod, 'spec', 'containers').some(
        (one) =>
          textAt(one, 'name') === textAt(container, 'name') && textAt(one, 'image') === textAt(container, 'image'),
      ),
    );
  const marked = pods.filter(sameMarks);
  const same = marked.filter(sameImages);
  // A webhook may write images anew.
  return same.length > 0 ? same : marked;
}

/** Hash of the configuration in the template. */
export function configHashOf(deployment: KubernetesObject | undefined): string | undefined {
  return templateAnnotation(deployment, CONFIG_HASH);
}

/**
 * The revision of referenced objects for the template: raised by one when a pod of the newest revision says that what it
 * refers to has changed since it started. The pods that this makes have the new number, so it is raised once for them.
 */
export function referencesRevision(
  deployment: KubernetesObject | undefined,
  newest: readonly KubernetesObject[],
  health: readonly { readonly pod: string; readonly referencesChanged: boolean }[],
): string | undefined {
  const current = templateAnnotation(deployment, REFERENCES_REVISION);
  const names = new Set(newest.map(({ metadata }) => metadata.name));
  const changed = health.some(({ pod, referencesChanged }) => referencesChanged && names.has(pod));
  if (!changed) return current;
  const number = Number(current ?? 0);
  return String(Number.isSafeInteger(number) && number >= 0 ? number + 1 : 1);
}

/** When the youngest of these pods became ready, in milliseconds since the epoch; undefined when none is. */
export function readySince(pods: readonly KubernetesObject[]): number | undefined {
  const times = pods.flatMap((pod) => {
    const ready = listAt(pod, 'status', 'conditions').find((one) => textAt(one, 'type') === 'Ready');
    const time = Date.parse(textAt(ready, 'lastTransitionTime') ?? '');
    return textAt(ready, 'status') === 'True' && !Number.isNaN(time) ? [time] : [];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}
