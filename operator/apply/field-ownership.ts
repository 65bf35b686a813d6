import { valueAt } from '../../lib/json/tree.ts';
import type { KubernetesObject, ManagedFieldsEntry } from '../kubernetes/kubernetes.ts';

/** Member names from the top of an object: `['spec', 'replicas']`. Lists cannot be entered. */
export type FieldPath = readonly string[];

/** An object with only this member. */
export function objectWith(path: FieldPath, value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, member) => ({ [member]: inner }), value) as Record<string, unknown>;
}

/** Whether the object, or a part of it, was applied by this manager. */
export const isAppliedBy = ({ metadata }: KubernetesObject, manager: string): boolean =>
  (metadata.managedFields ?? []).some((entry) => entry.manager === manager && isApply(entry));

const isApply = ({ operation, subresource }: ManagedFieldsEntry): boolean => operation === 'Apply' && !subresource;

/**
 * Who changed the object last, apart from its status; undefined where nobody says. Times are in whole seconds: of two in
 * the same one it is not `us`.
 */
export function lastManager({ metadata }: KubernetesObject, us: string): string | undefined {
  const entries = (metadata.managedFields ?? []).filter(({ subresource }) => subresource !== 'status');
  const latest = entries.reduce((time, one) => (one.time !== undefined && one.time > time ? one.time : time), '');
  const managers = entries.filter(({ time }) => time === latest).map(({ manager }) => manager);
  return managers.find((manager) => manager !== us) ?? managers[0];
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
  return owners.length > 0 && owners.every((entry) => entry.manager === manager && isApply(entry));
}
