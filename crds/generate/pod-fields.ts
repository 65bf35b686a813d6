import type { Amendments } from './amend.ts';

/** What is said about the fields that both kinds share, in `crds/v1alpha1/api.ts`. */
export const POD_FIELD_AMENDMENTS: Amendments = {
  env: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
  'env[]': {
    'x-kubernetes-validations': [
      {
        rule: '!(has(self.value) && has(self.valueFrom))',
        message: 'can have only one of value and valueFrom',
      },
    ],
  },
  'env[].valueFrom': {
    'x-kubernetes-validations': [
      {
        rule: 'has(self.secretKeyRef) != has(self.configMapKeyRef)',
        message: 'needs exactly one of secretKeyRef and configMapKeyRef',
      },
    ],
  },
  envFrom: { 'x-kubernetes-list-type': 'atomic' },
  'envFrom[]': {
    'x-kubernetes-validations': [
      {
        rule: 'has(self.secretRef) != has(self.configMapRef)',
        message: 'needs exactly one of secretRef and configMapRef',
      },
    ],
  },
  imagePullSecrets: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
};

/** Of the claim that the operator makes for either kind. */
export const CLAIM_AMENDMENTS: Amendments = {
  'storage.claim': {
    'x-kubernetes-validations': [
      {
        rule: 'has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)',
        message: 'storageClassName cannot be changed: Kubernetes has no way to move a claim to another class',
        fieldPath: '.storageClassName',
      },
      {
        rule: "(has(self.accessModes) ? self.accessModes : ['ReadWriteOnce']) == (has(oldSelf.accessModes) ? oldSelf.accessModes : ['ReadWriteOnce'])",
        message: 'accessModes cannot be changed: those of a PersistentVolumeClaim are fixed',
        fieldPath: '.accessModes',
      },
    ],
  },
  'storage.claim.accessModes': { 'x-kubernetes-list-type': 'atomic' },
  'storage.claim.accessModes[]': { maxLength: 16 },
};

export const CONDITION_LIST: Amendments = {
  conditions: { maxItems: 32, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
};
