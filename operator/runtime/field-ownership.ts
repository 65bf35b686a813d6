import type { ManagedFieldsEntry } from './kubernetes.ts';

/** Member names from the top of an object: `['spec', 'replicas']`. Lists cannot be entered. */
export type FieldPath = readonly string[];

export function valueAt(object: unknown, path: FieldPath): unknown {
  let value = object;
  for (const member of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[member];
  }
  return value;
}

/** An object with only this member. */
export function objectWith(path: FieldPath, value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, member) => ({ [member]: inner }), value) as Record<string, unknown>;
}

/**
 * Whether the field goes away when `manager` no longer applies it: server-side apply removes what only one manager set.
 * Source: Kubernetes, "Server-Side Apply", merge strategy.
 */
export function isSoleOwner(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  manager: string,
  path: FieldPath,
): boolean {
  const fieldPath = path.map((member) => `f:${member}`);
  const owners = (managedFields ?? []).filter((entry) => valueAt(entry.fieldsV1, fieldPath) !== undefined);
  return (
    owners.length > 0 &&
    owners.every((entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource)
  );
}
