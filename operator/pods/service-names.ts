/** Which Service of the cluster a host name means. */
import { valueAt } from '../../lib/json/tree.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';

/** RFC 1123. What is none names nothing in a cluster. */
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

export interface Meaning {
  /** The Service that it is, or that it would be when none is readable; undefined when it looks like no Service. */
  readonly place: Place | undefined;
  readonly service: KubernetesObject | undefined;
  /** Whether it can be nothing but a Service, even when none is readable. */
  readonly certain: boolean;
}

/**
 * Understands `service`, `service.namespace`, `service.namespace.svc` and `….svc.cluster.local`, each also behind the
 * name of a pod of a headless Service.
 * @param namespace where the pods run that use the name
 */
export function serviceOf(
  namespace: string,
  host: string,
  services: (namespace: string, name: string) => KubernetesObject | undefined,
): Meaning {
  const labels = host.split('.');
  const [first = '', second = ''] = labels;
  const svc = labels.indexOf('svc');
  if (!labels.every((label) => LABEL.test(label))) return { place: undefined, service: undefined, certain: false };
  if (labels.length === 1) return { ...read({ namespace, name: first }, services), certain: true };
  if (svc >= 2) {
    const place = { namespace: labels[svc - 1] ?? '', name: labels[svc - 2] ?? '' };
    return { ...read(place, services), certain: /\.svc(\.cluster\.local)?$/.test(host) };
  }
  const last = { namespace: labels.at(-1) ?? '', name: labels.at(-2) ?? '' };
  const service = labels.length === 2 ? services(last.namespace, last.name) : undefined;
  if (service !== undefined) return { place: last, service, certain: true };
  // Only pods of headless Services have names: `pod.service` here, or `pod.service.namespace`.
  const place = labels.length === 2 ? { namespace, name: second } : last;
  const headless = services(place.namespace, place.name);
  if (valueAt(headless, ['spec', 'clusterIP']) === 'None') return { place, service: headless, certain: true };
  return { place: labels.length === 2 ? last : undefined, service: undefined, certain: false };
}

const read = (place: Place, services: (namespace: string, name: string) => KubernetesObject | undefined) => ({
  place,
  service: services(place.namespace, place.name),
});
