import type { Name, Resource, Selection } from './kubernetes.ts';

/** `/api/v1` for the core group, `/apis/GROUP/VERSION` for every other. */
export const groupPath = (apiVersion: string): string =>
  apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;

/** Of all objects of the resource, or of those in one namespace. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const within = resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${groupPath(resource.apiVersion)}${within}/${resource.plural}`;
}

export function objectPath(resource: Resource, name: Name, subresource?: string): string {
  // Without it the path would be that of another thing: the object's name would be taken for a subresource.
  if (resource.namespaced && !name.namespace) throw new TypeError(`${resource.kind} ${name.name} needs a namespace`);
  if (!name.name) throw new TypeError(`a ${resource.kind} needs a name`);
  const path = `${collectionPath(resource, name.namespace)}/${encodeURIComponent(name.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** With a leading `?`, or empty; members without a value are left out. */
export function queryOf(members: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

export const selectors = (selection: Selection): Readonly<Record<string, string | undefined>> => ({
  labelSelector: selection.labelSelector,
  fieldSelector: selection.fieldSelector,
});
