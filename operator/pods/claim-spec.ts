import type { NewClaim } from '../../crds/v1alpha1/api.ts';

export const DEFAULT_ACCESS_MODES = ['ReadWriteOnce'];

/** The spec of a PersistentVolumeClaim. */
export function claimSpec({ size, storageClassName, accessModes }: NewClaim): object {
  return {
    accessModes: [...(accessModes ?? DEFAULT_ACCESS_MODES)],
    ...(storageClassName === undefined ? {} : { storageClassName }),
    resources: { requests: { storage: String(size) } },
  };
}
