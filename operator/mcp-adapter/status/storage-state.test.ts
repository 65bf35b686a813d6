import { expect, it } from 'vitest';
import { storageCondition } from './storage-state.ts';

const bound = (size: string, requestedSize: unknown) =>
  storageCondition({
    kind: 'claim',
    name: 'a-storage',
    made: true,
    requestedSize,
    claim: {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'a-storage' },
      spec: { resources: { requests: { storage: size } } },
      status: { phase: 'Bound' },
    },
  });

it('O8: a claim that is larger than the specification says is told', () => {
  expect(bound('2Gi', '1Gi')).toMatchObject({
    status: 'True',
    message:
      'PersistentVolumeClaim a-storage is bound; it has 2Gi and stays so, although spec.storage.claim.size is 1Gi: claims cannot shrink',
  });
});

it.each([
  ['1Gi', '1024Mi'],
  ['1Gi', '2Gi'],
  ['1Gi', undefined],
])('O8: a claim of %s where %s is requestedSize for is not', (size, requestedSize) => {
  expect(bound(size, requestedSize).message).toBe('PersistentVolumeClaim a-storage is bound');
});
