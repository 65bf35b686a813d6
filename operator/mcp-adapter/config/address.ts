/** Pure: where clients and the operator reach an adapter. */
import { valueAt } from '../../../lib/json/tree.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { PORT_NAME } from './defaults.ts';

/**
 * What clients put before a mount path: the host of the Ingress, else that of the HTTPRoute, else the Service's name.
 * Undefined while there is no Service.
 */
export function publicUrl(resource: KubernetesObject, service: KubernetesObject | undefined): string | undefined {
  const { name, namespace } = resource.metadata;
  const port = portOf(service);
  if (port === undefined) return undefined;
  return outsideUrl(resource['spec']) ?? `http://${name}.${namespace}.svc:${port}`;
}

/** The same where clients come from outside of the cluster; undefined when the spec names no host. */
export function outsideUrl(spec: unknown): string | undefined {
  const ingress = valueAt(spec, ['ingress']);
  if (isObject(ingress)) {
    return `${textAt(ingress, 'tlsSecretName') === undefined ? 'http' : 'https'}://${textAt(ingress, 'host')}`;
  }
  const route = valueAt(spec, ['httpRoute']);
  const [host] = listAt(route, 'hostnames');
  if (typeof host !== 'string' || host.startsWith('*')) return undefined;
  return `${listAt(route, 'parentRefs').some(isSecure) ? 'https' : 'http'}://${host}`;
}

/** Which listeners of a Gateway have certificates stands in the Gateway; by their names and ports people say it too. */
const isSecure = (parent: unknown): boolean =>
  numberAt(parent, 'port') === 443 || /https|tls/i.test(textAt(parent, 'sectionName') ?? '');

/** Where the operator reaches the Service, without DNS; undefined while it has no address. */
export function serviceOrigin(service: KubernetesObject | undefined): string | undefined {
  const address = textAt(service, 'spec', 'clusterIP');
  const port = portOf(service);
  if (port === undefined || address === undefined || address === '' || address === 'None') return undefined;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function portOf(service: KubernetesObject | undefined): number | undefined {
  const http = listAt(service, 'spec', 'ports').find((one) => textAt(one, 'name') === PORT_NAME);
  return numberAt(http, 'port');
}
