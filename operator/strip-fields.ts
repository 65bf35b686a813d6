/** Pure: what the caches keep of objects. Thousands of them are held for as long as the operator runs. */
import { placeholder } from './kubernetes/content-hash.ts';
import type { KubernetesObject } from './kubernetes/kubernetes.ts';
import { isObject } from '../lib/json/json-object.ts';
import { listAt } from './kubernetes/unstructured.ts';
import { GROUP_LABEL } from './scrape-group/group/names.ts';

/** kubectl keeps the whole object in it once more. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** A custom resource: all that its owner and the operator wrote. */
export function stripResource(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, annotations, ...metadata } = object.metadata;
  if (annotations === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: _last, ...others } = annotations;
  return { ...object, metadata: { ...metadata, annotations: others } };
}

/** An object that the operator applied: the hash tells whether someone changed it, so only what is read is kept. */
export function stripChild(object: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp, labels, ownerReferences } = metadata;
  const about = { name, namespace, uid, resourceVersion, generation, deletionTimestamp, labels, ownerReferences };
  return placeholder({ apiVersion, kind, metadata: about, ...partOf(object) }, object);
}

function partOf(object: KubernetesObject): Record<string, unknown> {
  const { data, spec, status } = object as { data?: unknown; spec?: unknown; status?: unknown };
  const part = (...members: string[]) => pick(spec, members);
  switch (object.kind) {
    case 'ConfigMap':
      // A group's file says what its pods run; that of an adapter is never looked at.
      return isOfGroup(object) ? { data } : {};
    case 'Deployment':
      return { spec: strippedDeploymentSpec(spec, isOfGroup(object)), status };
    case 'NetworkPolicy':
      return { spec: part('policyTypes', 'egress') };
    case 'PersistentVolumeClaim':
      return { spec: part('storageClassName', 'resources'), status };
    case 'Service':
      return { spec: part('clusterIP', 'ports') };
    default:
      return {};
  }
}

/** What tells how a rollout goes, and pods of one revision from those of another; the variables of a group, by which it is taken apart again. */
function strippedDeploymentSpec(spec: unknown, withVariables: boolean): Record<string, unknown> {
  const template = isObject(spec) && isObject(spec['template']) ? spec['template'] : {};
  const members = ['name', 'image', ...(withVariables ? ['env', 'envFrom'] : [])];
  return {
    ...pick(spec, ['replicas', 'progressDeadlineSeconds']),
    template: {
      metadata: pick(template['metadata'], ['annotations']),
      spec: { containers: listAt(template, 'spec', 'containers').map((container) => pick(container, members)) },
    },
  };
}

/** What of a pod is looked at; the rest is most of it. */
export function stripPod({ apiVersion, kind, metadata, ...pod }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations },
    spec: {
      containers: listAt(pod, 'spec', 'containers').map((container) => pick(container, ['name', 'image', 'ports'])),
    },
    status: pick(pod['status'], ['phase', 'podIP', 'conditions', 'initContainerStatuses', 'containerStatuses']),
  };
}

const isOfGroup = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[GROUP_LABEL] !== undefined;

function pick(value: unknown, members: readonly string[]): Record<string, unknown> {
  if (!isObject(value)) return {};
  return Object.fromEntries(members.filter((member) => member in value).map((member) => [member, value[member]]));
}
