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

export const CONDITION_LIST: Amendments = {
  conditions: { maxItems: 32, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
};
