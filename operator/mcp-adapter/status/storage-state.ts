/** Pure: the state of an adapter's storage, condition `StorageReady`. */
import { bytesOf } from '../../pods/grown-claims.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { textAt } from '../../kubernetes/unstructured.ts';

/** Where the files are. */
export type StorageState =
  | { readonly kind: 'temporary' }
  /** `made`: by the operator, so that it may still come. */
  | {
      readonly kind: 'claim';
      readonly name: string;
      readonly made: boolean;
      readonly claim: KubernetesObject | undefined;
      /** The size that `spec.storage.claim` asks for. */
      readonly requestedSize?: unknown;
    };

export function storageCondition(storage: StorageState): DesiredCondition {
  const condition = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
    type: 'StorageReady',
    status,
    reason,
    message,
  });
  if (storage.kind === 'temporary') return condition('True', 'Temporary', 'Files are kept as long as their pod');
  const { name, made, claim, requestedSize } = storage;
  if (claim === undefined) {
    return made
      ? condition('Unknown', 'Creating', `PersistentVolumeClaim ${name} is not there yet`)
      : condition(
          'False',
          'ClaimNotFound',
          `PersistentVolumeClaim ${name} does not exist; create it, or correct spec.storage`,
        );
  }
  const phase = textAt(claim, 'status', 'phase') ?? 'Pending';
  if (phase === 'Bound')
    return condition('True', 'Bound', `PersistentVolumeClaim ${name} is bound${larger(claim, requestedSize)}`);
  if (phase === 'Lost') {
    return condition(
      'False',
      'ClaimLost',
      `PersistentVolumeClaim ${name} has lost its volume; restore it, or delete the claim`,
    );
  }
  const storageClass = textAt(claim, 'spec', 'storageClassName');
  const hint =
    storageClass === undefined || storageClass === ''
      ? 'it names no storage class, so the cluster needs a default one'
      : `storage class ${storageClass} has to provide it, in some classes only when a pod is placed on a node`;
  return condition('Unknown', 'Pending', `PersistentVolumeClaim ${name} waits for a volume: ${hint}`);
}

/** A claim stays as large as somebody has made it. */
function larger(claim: KubernetesObject, requestedSize: unknown): string {
  const size = textAt(claim, 'spec', 'resources', 'requests', 'storage');
  if (!(bytesOf(size) > bytesOf(requestedSize))) return '';
  return `; it has ${size} and stays so, although spec.storage.claim.size is ${String(requestedSize)}: claims cannot shrink`;
}
