import { describe, expect, it } from 'vitest';
import { contentHash, hashOf } from './content-hash.ts';
import type { KubernetesObject } from './kubernetes.ts';

const object: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'demo', namespace: 'default', uid: 'u1', labels: { a: '1' } },
  data: { x: '1' },
};

describe('hashOf', () => {
  it('does not depend on the order of keys, but on that of lists', () => {
    expect(hashOf({ a: 1, b: [{ c: 2, d: 3 }] })).toBe(hashOf({ b: [{ d: 3, c: 2 }], a: 1 }));
    expect(hashOf([1, 2])).not.toBe(hashOf([2, 1]));
    expect(hashOf({ a: '1' })).not.toBe(hashOf({ a: 1 }));
  });
});

describe('contentHash', () => {
  const hash = contentHash(object);

  it('stays when only the API server or a controller counts, or a list leaves the type out', () => {
    const { apiVersion: _, kind: __, ...item } = object;
    const metadata = { ...object.metadata, resourceVersion: '7', generation: 3, managedFields: [] };
    expect(contentHash({ ...object, metadata, status: { replicas: 1 } })).toBe(hash);
    expect(contentHash(item as KubernetesObject)).toBe(hash);
  });

  it('changes with content, labels, owners, deletion, and with another object of the same name', () => {
    const changed = [
      { ...object, data: { x: '2' } },
      { ...object, metadata: { ...object.metadata, labels: { a: '2' } } },
      { ...object, metadata: { ...object.metadata, ownerReferences: [] } },
      { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
      { ...object, metadata: { ...object.metadata, uid: 'u2' } },
    ];
    expect(new Set([hash, ...changed.map(contentHash)]).size).toBe(6);
  });
});
