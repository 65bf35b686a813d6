import { expect, test } from 'vitest';
import { STORAGE_CLAIMS } from '../kubernetes/resources.ts';
import { bytesOf, withGrownClaims } from './grown-claims.ts';

test.each([
  ['10', 10],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['2G', 2e9],
  ['1Ki', 1024],
  ['1k', 1000],
  ['1E', 1e18],
  ['1e3', 1000],
  [undefined, NaN],
  ['ten', NaN],
])('%s has as many bytes as it says', (quantity, bytes) => {
  expect(bytesOf(quantity)).toBe(bytes);
});

test.each([
  ['20Gi', '10Gi', '20Gi'],
  ['20Gi', '20480Mi', '20480Mi'],
  ['10Gi', '20Gi', '20Gi'],
  [undefined, '1Gi', '1Gi'],
])('a claim of %s that should have %s gets %s', (live, wanted, expected) => {
  const claim = (storage: string | undefined) => ({
    resource: STORAGE_CLAIMS,
    object: {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'a' },
      spec: { storageClassName: 'x', resources: { requests: { storage } } },
    },
  });
  const [grown] = withGrownClaims([{ ...claim(wanted), owned: false }], [claim(live)]);
  expect(grown).toEqual({ ...claim(expected), owned: false });
});
