/** Pure: objects without what is of no use. */
import type { KubernetesObject } from './kubernetes.ts';

/** They are often most of an object. */
export function withoutManagedFields(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** A null would be applied as a value of its own. Whoever writes it means that the field is not there. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(entries.map(([name, member]) => [name, withoutNulls(member)]));
}
