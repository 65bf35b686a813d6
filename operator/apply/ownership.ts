import type { KubernetesObject, OwnerReference } from '../kubernetes/kubernetes.ts';

/** How the objects of one family (what one key's reconcile makes) are told from those of others. */
export interface Ownership {
  /** Put on every object that does not name its owners itself. */
  readonly owners: readonly OwnerReference[];
  /** Labels that every object of the family carries, and no object of another family. */
  readonly labels: Readonly<Record<string, string>>;
  /**
   * Where owners come and go, as in a group: an object with the labels whose owners are all of this kind is ours,
   * whichever of them it names.
   */
  readonly ownerKind?: { readonly apiVersion: string; readonly kind: string };
}

/**
 * - `ours`: made by us, or left behind by us without an owner.
 * - `predecessor`: of a resource of the same name that was deleted; the garbage collector takes it away.
 * - `foreign`: someone else's. It must not be touched.
 */
export type Standing = 'ours' | 'predecessor' | 'foreign';

export function standing(object: KubernetesObject, ownership: Ownership): Standing {
  const references = object.metadata.ownerReferences ?? [];
  if (references.some(({ uid }) => ownership.owners.some((owner) => owner.uid === uid))) return 'ours';
  if (!carriesLabels(object, ownership)) return 'foreign';
  if (references.length === 0) return 'ours';
  const { ownerKind } = ownership;
  if (ownerKind !== undefined && references.every((reference) => sameKind(reference, ownerKind))) return 'ours';
  const before = references.some((reference) =>
    ownership.owners.some((owner) => sameKind(reference, owner) && reference.name === owner.name),
  );
  return before ? 'predecessor' : 'foreign';
}

/**
 * Whether an object that is no longer desired may be deleted. One without an owner stays: it was made to outlive its
 * resource, as a claim that is to be retained.
 */
export function prunable(object: KubernetesObject, ownership: Ownership): boolean {
  return (
    (object.metadata.ownerReferences ?? []).length > 0 &&
    carriesLabels(object, ownership) &&
    standing(object, ownership) === 'ours'
  );
}

const MANAGED_BY = 'app.kubernetes.io/managed-by';

/**
 * Whether an object that we applied, and that looks like someone else's now, may be taken back: the label by which all of
 * ours are watched was edited, or others took its owner's place without becoming its controller.
 */
export function canBeTakenBack(object: KubernetesObject, { labels }: Ownership): boolean {
  const family = Object.fromEntries(Object.entries(labels).filter(([key]) => key !== MANAGED_BY));
  const isControlled = (object.metadata.ownerReferences ?? []).some(({ controller }) => controller === true);
  return !isControlled && carriesLabels(object, { owners: [], labels: family });
}

function carriesLabels(object: KubernetesObject, { labels }: Ownership): boolean {
  const entries = Object.entries(labels);
  return entries.length > 0 && entries.every(([key, value]) => object.metadata.labels?.[key] === value);
}

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Of any version: objects keep the reference that they were made with. */
function sameKind(a: Kind, b: Kind): boolean {
  return a.kind === b.kind && groupOf(a.apiVersion) === groupOf(b.apiVersion);
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}
