import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { STORAGE_CLAIMS } from '../../kubernetes/resources.ts';
import { DEFAULT_ACCESS_MODES, claimSpec } from '../../pods/claim-spec.ts';
import { childMetadata, storageClaimName } from '../config/labels.ts';

/**
 * The claim of `spec.storage.claim`.
 * @param labels beside the usual ones
 */
export function storageClaim(
  adapter: McpAdapter,
  labels: Readonly<Record<string, string>>,
): KubernetesObject | undefined {
  const claim = adapter.spec.storage?.claim;
  if (claim === undefined) return undefined;
  return {
    apiVersion: STORAGE_CLAIMS.apiVersion,
    kind: STORAGE_CLAIMS.kind,
    metadata: childMetadata(adapter, storageClaimName(adapter), { annotations: claim.annotations, labels }),
    spec: claimSpec(claim),
  };
}

/** Whether several pods on several nodes may use the storage; undefined when the operator cannot know. */
export function isShared(
  { storage }: McpAdapter['spec'],
  existingModes: readonly string[] | undefined,
): boolean | undefined {
  if (storage?.existingClaim !== undefined) return existingModes?.includes('ReadWriteMany');
  if (storage?.claim !== undefined)
    return (storage.claim.accessModes ?? DEFAULT_ACCESS_MODES).includes('ReadWriteMany');
  return true; // A temporary folder is each pod's own.
}

/** The volume of `config.storage.root`. */
export function storageVolumeSource(adapter: McpAdapter): object {
  const { claim, existingClaim, temporary } = adapter.spec.storage ?? {};
  const claimName = existingClaim ?? (claim === undefined ? undefined : storageClaimName(adapter));
  if (claimName !== undefined) return { persistentVolumeClaim: { claimName } };
  return { emptyDir: temporary?.sizeLimit === undefined ? {} : { sizeLimit: String(temporary.sizeLimit) } };
}
